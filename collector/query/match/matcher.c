/* Matches rows against filters. See matcher.h. */
#include "collector/query/match/matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proto/stack_columns.h"
#include "collector/columns/row_block.h"
#include "collector/query/sums/group_table.h"
#include "collector/query/match/pattern.h"
#include "collector/query/match/suppress.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

DEFINE_CLEANUP(pattern_free, struct pattern *)

/* ---- stacks ---- */

enum hit {
	HIT_FUNCTION = 1,
	HIT_SOURCE = 2,
	HIT_NEGATIVE_FUNCTION = 4,
	HIT_NEGATIVE_SOURCE = 8,
	HIT_MODULE = 16
};

/* Evaluates one expression on every distinct text. ret_hits has one byte per text, and 0 for "no
 * text". */
static int match_texts(const char *name, const char *regex, const struct intern *texts,
		       uint8_t **ret_hits, struct err_text *err)
{
	cleanup(cleanup_pattern_free) struct pattern *pattern = NULL;
	cleanup(cleanup_free) uint8_t *hits = calloc((size_t)texts->count + 1, 1);
	int r = pattern_new(name, regex, &pattern, err);

	if (r < 0)
		return r;
	if (!hits)
		return -ENOMEM;
	for (uint32_t i = 1; i <= texts->count; i++) {
		r = pattern_match(pattern, intern_get(texts, i), err);
		if (r < 0)
			return r;
		hits[i] = (uint8_t)r;
	}
	*ret_hits = take_ptr(hits);
	return 0;
}

/* Sets `bit` in every place that has a frame with a matching function (or source file). */
static int mark_places(struct view *view, const char *name, const char *regex, bool source,
		       uint8_t bit, uint8_t *places, struct err_text *err)
{
	cleanup(cleanup_free) uint8_t *hits = NULL;
	int r;

	if (!regex)
		return 0;
	r = match_texts(name, regex, source ? &view->texts : &view->names, &hits, err);
	if (r < 0)
		return r;
	for (uint32_t p = 0; p < view->place_count; p++) {
		const struct frame *frame = view->frames + view->places[p].first_frame;

		for (uint32_t i = 0; i < view->places[p].frame_count; i++, frame++)
			if (hits[source ? frame->file : frame->name])
				places[p] |= bit;
	}
	return 0;
}

static bool matcher_is_module(const struct module_info *module, const char *name)
{
	if (!module || !module->path)
		return false;
	return !strcmp(module->path, name) || !strcmp(module_basename(module->path), name);
}

/* Sets HIT_MODULE in every place that lies in the named module. */
static void mark_module(struct view *view, const char *name, uint8_t *places)
{
	for (uint32_t p = 0; name && p < view->place_count; p++)
		if (view->places[p].module &&
		    matcher_is_module(recording_module(view->recording, view->places[p].module),
				      name))
			places[p] |= HIT_MODULE;
}

static bool hits_pass(const struct filter *f, uint8_t hits)
{
	return (!f->function_regex || (hits & HIT_FUNCTION)) &&
	       (!f->source_regex || (hits & HIT_SOURCE)) && (!f->module || (hits & HIT_MODULE)) &&
	       !(hits & (HIT_NEGATIVE_FUNCTION | HIT_NEGATIVE_SOURCE));
}

/* A stack has the hits of all its nodes. Parents come before children, so one pass hands the hits
 * down. */
static int judge_nodes(struct matcher *m, struct view *view, const uint8_t *places)
{
	const struct filter *f = m->filter;
	cleanup(cleanup_free) uint32_t *depth = calloc((size_t)m->nodes + 1, sizeof(*depth));
	cleanup(cleanup_free) uint8_t *hits = calloc((size_t)m->nodes + 1, 1);

	m->node_passes = calloc((size_t)m->nodes + 1, 1);
	if (!depth || !hits || !m->node_passes)
		return -ENOMEM;
	for (uint32_t n = 0; n <= m->nodes; n++) {
		const struct stack_node *node = n ? recording_node(m->recording, n) : NULL;

		hits[n] = places[view_place(view, n) - view->places];
		if (node) {
			uint32_t parent = node->parent < n ? node->parent : 0;

			hits[n] |= parent ? hits[parent] : 0;
			depth[n] = (parent ? depth[parent] : 0) + 1;
		}
		m->node_passes[n] = depth[n] >= f->depth_min && depth[n] <= f->depth_max &&
				    hits_pass(f, hits[n]);
	}
	return 0;
}

static int judge_stacks(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct filter *f = m->filter;
	cleanup(cleanup_free) uint8_t *places = NULL;
	int r = view_prepare(view, err);

	if (r < 0)
		return r;
	m->nodes = view->nodes;
	places = calloc(view->place_count, 1);
	if (!places)
		return -ENOMEM;
	r = mark_places(view, "function_regex", f->function_regex, false, HIT_FUNCTION, places,
			err);
	if (!r)
		r = mark_places(view, "source_regex", f->source_regex, true, HIT_SOURCE, places,
				err);
	if (!r)
		r = mark_places(view, "negative_function_regex", f->negative_function_regex, false,
				HIT_NEGATIVE_FUNCTION, places, err);
	if (!r)
		r = mark_places(view, "negative_source_regex", f->negative_source_regex, true,
				HIT_NEGATIVE_SOURCE, places, err);
	mark_module(view, f->module, places);
	return r ? r : judge_nodes(m, view, places);
}

/* ---- groups and chains ---- */

static bool none_ended(const struct node_sums *sums, const struct node_sum *sum)
{
	for (unsigned e = 0; e < NODE_ENDS; e++) {
		struct tally ended = node_sum_ended(sums, sum, e);

		if (e != BLOCK_IN_USE && (ended.blocks || ended.samples))
			return false;
	}
	return true;
}

/* Lets only groups pass of which no block has ended. A group is the blocks of one backtrace. */
static int judge_leaked_groups(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct whole_sums *whole;
	int r = view_whole_sums(view, m->filter, 0, &whole, err);

	for (uint32_t i = 0; !r && i < whole->sums.count; i++) {
		const struct node_sum *sum = &whole->sums.list[i];

		if (sum->node <= m->nodes && !none_ended(&whole->sums, sum))
			m->node_passes[sum->node] = 0;
	}
	return r;
}

static bool asks_groups(const struct filter *f)
{
	return filter_asked(f) & FILTER_GROUP;
}

static double share_of(const struct filter_share *share, double all)
{
	return share->percent ? share->number * all / 100 : share->number;
}

static bool group_passes(const struct filter *f, const struct group_stats *g)
{
	struct usage all = tally_usage(&g->allocated);
	double leaked = (double)tally_usage(&g->leaked).blocks, blocks = (double)all.blocks;
	uint64_t interval = g->last_ns - g->first_ns;

	return interval >= f->group_interval_min_ns && interval <= f->group_interval_max_ns &&
	       all.blocks >= f->group_allocations_min && all.blocks <= f->group_allocations_max &&
	       leaked >= share_of(&f->group_leaked_min, blocks) &&
	       (f->group_leaked_max.number < 0 ||
		leaked <= share_of(&f->group_leaked_max, blocks)) &&
	       g->peak_ns >= f->group_peak_min_ns && g->peak_ns <= f->group_peak_max_ns;
}

static int judge_groups(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct filter *f = m->filter;
	bool peaks = f->group_peak_min_ns || f->group_peak_max_ns != UINT64_MAX;
	struct group_table table;
	int r = group_table_init(&table, view, f, peaks, err);

	if (r < 0)
		return r;
	for (uint32_t n = 0; n <= m->nodes; n++) {
		const struct group_stats *g = group_table_get(&table, n);

		m->node_passes[n] &= g && group_passes(f, g);
	}
	group_table_done(&table);
	return 0;
}

/* A chain is a block and what realloc made of it, one row each, in ascending order. The pass goes
 * backwards, so that the successor's fate is known. */
static int judge_chain_rows(void *context, const struct row_block *block,
			    const struct row_set *rows)
{
	struct matcher *m = context;

	for (uint32_t k = rows->count; k-- > 0;) {
		uint32_t i = row_at(rows, k);
		uint64_t row = block->first_row + i, next = block->chain_next[i];
		bool leaks = next == NO_BLOCK || next <= row || next >= m->rows
				     ? row_leaked(block, i)
				     : row_bit(m->chain_leaks, next);

		if (leaks)
			m->chain_leaks[row / 8] |= (uint8_t)(1u << row % 8);
	}
	return 0;
}

static int judge_leaked_chains(struct matcher *m, struct err_text *err)
{
	struct matcher all;

	m->chain_leaks = calloc(m->rows / 8 + 1, 1);
	if (!m->chain_leaks)
		return -ENOMEM;
	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	return sweep_backwards(&all, ROWS_CHAIN | ROWS_END, judge_chain_rows, m, err);
}

/* ---- rows ---- */

static bool asks_stacks(const struct filter *f)
{
	return (filter_asked(f) & (FILTER_STACK | FILTER_GROUP)) ||
	       f->lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED || f->suppress;
}

/* Returns true if the only condition on chains is that realloc made the block from another, which
 * the row itself shows. */
static bool asks_moved(const struct filter *f)
{
	return f->position_min == 1 && f->position_max == UINT64_MAX;
}

static bool asks_chains(const struct filter *f)
{
	unsigned asked = filter_asked(f);

	return (asked & FILTER_CHAIN) || ((asked & FILTER_POSITION) && !asks_moved(f));
}

static bool asks_row_bits(const struct filter *f)
{
	return asks_chains(f) || (filter_asked(f) & (FILTER_BITS | FILTER_ORIGIN)) || f->only;
}

static int matcher_judge_rows(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct filter *f = m->filter;
	int r = 0;

	m->row_passes = f->only ? calloc(m->rows / 8 + 1, 1) : malloc(m->rows / 8 + 1);
	if (!m->row_passes)
		return -ENOMEM;
	if (f->only)
		memcpy(m->row_passes, f->only->bits,
		       (m->rows < f->only->rows ? m->rows : f->only->rows) / 8 + 1);
	else
		memset(m->row_passes, 0xff, m->rows / 8 + 1);
	if (asks_chains(f))
		r = chains_judge(m, err);
	if (!r && f->freed_at_once != ANSWER_ANY)
		r = freed_at_once_judge(m, err);
	if (!r && f->tag)
		r = labels_judge(m, err);
	if (!r && (filter_asked(f) & FILTER_ORIGIN))
		r = origin_judge(m, view, err);
	return r;
}

static int judge_threads(struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_pattern_free) struct pattern *pattern = NULL;
	int r = pattern_new("thread_name", m->filter->thread_name, &pattern, err);

	if (r < 0)
		return r;
	m->threads = recording_threads(m->recording);
	m->thread_passes = calloc((size_t)m->threads + 1, 1);
	if (!m->thread_passes)
		return -ENOMEM;
	for (uint32_t n = 1; n <= m->threads; n++) {
		const struct thread_info *thread = recording_thread(m->recording, n);

		r = thread ? pattern_match(pattern, thread->name ? thread->name : "", err) : 0;
		if (r < 0)
			return r;
		m->thread_passes[n] = (uint8_t)r;
	}
	return 0;
}

static bool asks_nothing(const struct filter *f)
{
	return !filter_asked(f) && !f->only && !f->before_start && !f->one_in;
}

static unsigned lifetime_columns(const struct filter *f)
{
	unsigned columns = 0;

	if (f->lifetime != LIFETIME_ALL && f->lifetime != LIFETIME_ONLY_CHAIN_LEAKED)
		columns |= ROWS_END;
	if (f->lifetime == LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE ||
	    f->lifetime == LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE)
		columns |= ROWS_DEATH;
	return columns;
}

bool filter_asks_alive(const struct filter *f)
{
	return f->alive_at_ns != NO_TIME || f->alive_at_2_ns != NO_TIME ||
	       f->lifetime == LIFETIME_ONLY_LEAKED || f->lifetime == LIFETIME_ONLY_CHAIN_LEAKED ||
	       f->lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED;
}

/* Leaves out suppressed stacks, or all others. If no stack is suppressed and there is no other
 * condition, all rows match as without suppressions. */
static int judge_suppressed(struct matcher *m, struct view *view)
{
	const struct filter *f = m->filter;
	int r = suppressions_judge(f->suppress, view, m->nodes, &m->node_suppressed);

	if (r < 0)
		return r;
	if (!m->node_suppressed && m->everything && !f->only_suppressed) {
		free(take_ptr(m->node_passes));
		return 0;
	}
	m->everything = false;
	for (uint32_t n = 0; n <= m->nodes; n++)
		if ((m->node_suppressed && m->node_suppressed[n]) != f->only_suppressed)
			m->node_passes[n] = 0;
	return 0;
}

static unsigned columns_of(const struct matcher *m)
{
	unsigned columns = m->columns | filter_columns(m->filter) | lifetime_columns(m->filter);

	if (m->node_passes)
		columns |= ROWS_STACK;
	if (m->moved)
		columns |= ROWS_CHAIN;
	if (m->one_in)
		columns |= ROWS_SIZE | ROWS_WEIGHT;
	return columns;
}

void matcher_init_all(struct matcher *matcher, const struct recording *recording,
		      const struct filter *filter)
{
	*matcher = (struct matcher){
		.filter = filter,
		.recording = recording,
		.rows = recording_rows(recording),
		.end_ns = recording_end_ns(recording),
		.everything = true,
		.columns = recording_survivors(recording) ? ROWS_KIND : 0,
	};
}

int matcher_init(struct matcher *matcher, struct view *view, const struct filter *filter,
		 struct err_text *err)
{
	int r = 0;

	matcher_init_all(matcher, view->recording, filter);
	matcher->everything = asks_nothing(filter);
	matcher->one_in = filter->one_in;
	matcher->moved = asks_moved(filter);
	matcher->hides_survivors =
		recording_survivors(view->recording) && !filter_asks_alive(filter);
	if (asks_stacks(filter))
		r = judge_stacks(matcher, view, err);
	if (!r && filter->lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED)
		r = judge_leaked_groups(matcher, view, err);
	if (!r && filter->lifetime == LIFETIME_ONLY_CHAIN_LEAKED)
		r = judge_leaked_chains(matcher, err);
	if (!r && asks_groups(filter))
		r = judge_groups(matcher, view, err);
	if (!r && asks_row_bits(filter))
		r = matcher_judge_rows(matcher, view, err);
	if (!r && filter->thread_name)
		r = judge_threads(matcher, err);
	if (!r && filter->suppress)
		r = judge_suppressed(matcher, view);
	matcher->columns = columns_of(matcher);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r < 0)
		matcher_done(matcher);
	return r;
}

void matcher_done(struct matcher *matcher)
{
	free(take_ptr(matcher->node_passes));
	free(take_ptr(matcher->node_suppressed));
	free(take_ptr(matcher->chain_leaks));
	free(take_ptr(matcher->row_passes));
	free(take_ptr(matcher->thread_passes));
}

void matcher_only_leaked(struct matcher *matcher)
{
	matcher->leaked_only = true;
	matcher->columns |= ROWS_END;
}

int matcher_cancelled(const struct matcher *matcher, struct err_text *err)
{
	int r = cancel_check(&matcher->filter->cancel);

	if (!r)
		return 0;
	return err_set(err, r,
		       r == -ETIME ? "the question takes too long" : "the question was withdrawn");
}

void matcher_will_do(const struct matcher *matcher, uint64_t blocks)
{
	if (matcher->filter->progress)
		atomic_fetch_add(&matcher->filter->progress->of, blocks);
}

void matcher_did(const struct matcher *matcher, uint64_t blocks, bool asking)
{
	struct progress *p = matcher->filter->progress;
	uint64_t done;

	if (!p)
		return;
	done = atomic_fetch_add(&p->done, blocks) + blocks;
	if (asking && p->show)
		p->show(p->context, done, p->of);
}

uint32_t matcher_block_rows(const struct matcher *matcher, const struct row_block *zone)
{
	const struct filter *f = matcher->filter;
	uint64_t left;

	if (!zone || zone->first_row >= matcher->rows)
		return 0;
	left = matcher->rows - zone->first_row;
	if (left > zone->count)
		left = zone->count;
	if (matcher->leaked_only && !value_possible(VALUE_LEAKED, 0, zone))
		return 0;
	if (matcher->everything)
		return (uint32_t)left;
	if (f->before_start || zone->min.birth_ns > f->to_ns || zone->max.birth_ns < f->from_ns ||
	    zone->min.size > f->size_max || zone->max.size < f->size_min ||
	    zone->min.address > f->address_max || zone->max.address < f->address_min)
		return 0;
	if ((f->alive_at_ns != NO_TIME && !value_possible(VALUE_IN_USE, f->alive_at_ns, zone)) ||
	    (f->alive_at_2_ns != NO_TIME &&
	     !value_possible(VALUE_IN_USE, f->alive_at_2_ns, zone)) ||
	    (f->lifetime == LIFETIME_ONLY_LEAKED && !value_possible(VALUE_LEAKED, 0, zone)))
		return 0;
	return (uint32_t)left;
}

/* ---- row by row ---- */

struct each {
	int (*row)(void *context, const struct row_block *block, uint32_t index);
	void *context;
};

static int each_row(void *context, const struct row_block *block, const struct row_set *rows)
{
	const struct each *each = context;
	int r = 0;

	for (uint32_t k = 0; !r && k < rows->count; k++)
		r = each->row(each->context, block, row_at(rows, k));
	return r;
}

int query_each(struct view *view, const struct filter *filter,
	       int (*row)(void *context, const struct row_block *block, uint32_t index),
	       void *context, struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (!r)
		r = sweep_in_order(&m, ROWS_ALL, each_row, &(struct each){row, context}, err);
	matcher_done(&m);
	return r;
}
