/* Filters against rows. See matcher.h. */
#include "collector/query/matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/group_table.h"
#include "collector/query/pattern.h"
#include "collector/query/view.h"

#include "base/ban.h"

DEFINE_CLEANUP(pattern_free, struct pattern *)

/* ---- stacks ---- */

enum hit { HIT_FUNCTION = 1, HIT_SOURCE = 2, HIT_NEGATIVE_FUNCTION = 4, HIT_NEGATIVE_SOURCE = 8, HIT_MODULE = 16 };

/* Evaluates one expression on every distinct text; ret_hits has a byte for each, 0 for "no text". */
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

/* Sets `bit` in every place that has a frame with such a function (or source file). */
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

static bool is_module(const struct module_info *module, const char *name)
{
	if (!module || !module->path)
		return false;
	return !strcmp(module->path, name) || !strcmp(module_basename(module->path), name);
}

/* Sets HIT_MODULE in every place that lies in such a module. */
static void mark_module(struct view *view, const char *name, uint8_t *places)
{
	for (uint32_t p = 0; name && p < view->place_count; p++)
		if (view->places[p].module && is_module(recording_module(view->recording, view->places[p].module), name))
			places[p] |= HIT_MODULE;
}

static bool hits_pass(const struct filter *f, uint8_t hits)
{
	return (!f->function_regex || (hits & HIT_FUNCTION)) &&
	       (!f->source_regex || (hits & HIT_SOURCE)) && (!f->module || (hits & HIT_MODULE)) &&
	       !(hits & (HIT_NEGATIVE_FUNCTION | HIT_NEGATIVE_SOURCE));
}

/* A stack has what its nodes have: parents come first, so one pass hands it down. */
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

/* A group is the blocks of one backtrace; only those of which none has ended pass. */
static int judge_leaked_groups(struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_free) uint8_t *ended = calloc((size_t)m->nodes + 1, 1);

	if (!ended)
		return -ENOMEM;
	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < block->count; i++)
			if (!row_leaked(block, i) && block->stack[i] <= m->nodes)
				ended[block->stack[i]] = 1;
	}
	for (uint32_t i = 0; i < recording_culled_count(m->recording); i++)
		if (recording_culled(m->recording, i)->stack <= m->nodes)
			ended[recording_culled(m->recording, i)->stack] = 1;
	for (uint32_t n = 0; n <= m->nodes; n++)
		m->node_passes[n] &= !ended[n];
	return 0;
}

static bool asks_groups(const struct filter *f)
{
	return f->group_interval_min_ns || f->group_interval_max_ns != UINT64_MAX || f->group_allocations_min ||
	       f->group_allocations_max != UINT64_MAX || f->group_leaked_min.number > 0 ||
	       f->group_leaked_max.number >= 0 || f->group_peak_min_ns || f->group_peak_max_ns != UINT64_MAX;
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
	       (f->group_leaked_max.number < 0 || leaked <= share_of(&f->group_leaked_max, blocks)) &&
	       g->peak_ns >= f->group_peak_min_ns && g->peak_ns <= f->group_peak_max_ns;
}

static int judge_groups(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct filter *f = m->filter;
	bool peaks = f->group_peak_min_ns || f->group_peak_max_ns != UINT64_MAX;
	struct group_table table;
	int r = group_table_init(&table, view, f->cancelled, peaks, err);

	if (r < 0)
		return r;
	for (uint32_t n = 0; n <= m->nodes; n++) {
		const struct group_stats *g = group_table_get(&table, n);

		m->node_passes[n] &= g && group_passes(f, g);
	}
	group_table_done(&table);
	return 0;
}

/* A chain is a block and what realloc made of it, one row each, later rows after earlier ones: going backwards, the successor's
 * fate is known. */
static int judge_chains(struct matcher *m, struct err_text *err)
{
	m->chain_leaks = calloc(m->rows / 8 + 1, 1);
	if (!m->chain_leaks)
		return -ENOMEM;
	for (uint32_t b = recording_blocks(m->recording); b-- > 0;) {
		const struct row_block *block = recording_block(m->recording, b);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = block->count; i-- > 0;) {
			uint64_t row = block->first_row + i, next = block->chain_next[i];
			bool leaks = next == NO_BLOCK || next <= row || next >= m->rows
					     ? row_leaked(block, i)
					     : m->chain_leaks[next / 8] >> next % 8 & 1;

			if (row < m->rows && leaks)
				m->chain_leaks[row / 8] |= (uint8_t)(1u << row % 8);
		}
	}
	return 0;
}

/* ---- rows ---- */

static bool asks_stacks(const struct filter *f)
{
	return f->function_regex || f->source_regex || f->negative_function_regex ||
	       f->negative_source_regex || f->depth_min || f->depth_max != UINT32_MAX || f->module ||
	       f->lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED || asks_groups(f);
}

static bool asks_chains(const struct filter *f)
{
	return f->first_size_min || f->first_size_max != UINT64_MAX || f->last_size_min ||
	       f->last_size_max != UINT64_MAX || f->chain_lifetime_min_ns ||
	       f->chain_lifetime_max_ns != UINT64_MAX || f->chain_length_min ||
	       f->chain_length_max != UINT64_MAX || f->position_min || f->position_max != UINT64_MAX;
}

static bool asks_row_bits(const struct filter *f)
{
	return asks_chains(f) || f->tag || f->freed_at_once != ANSWER_ANY || origin_asked(f);
}

static int judge_rows(struct matcher *m, struct view *view, struct err_text *err)
{
	const struct filter *f = m->filter;
	int r = 0;

	m->row_passes = malloc(m->rows / 8 + 1);
	if (!m->row_passes)
		return -ENOMEM;
	memset(m->row_passes, 0xff, m->rows / 8 + 1);
	if (asks_chains(f))
		r = chains_judge(m, err);
	if (!r && f->freed_at_once != ANSWER_ANY)
		r = freed_at_once_judge(m, err);
	if (!r && f->tag)
		r = labels_judge(m, err);
	if (!r && origin_asked(f))
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
	return !f->from_ns && f->to_ns == UINT64_MAX && f->lifetime == LIFETIME_ALL &&
	       !f->address_min && f->address_max == UINT64_MAX && !f->size_min &&
	       f->size_max == UINT64_MAX && !f->lifetime_min_ns &&
	       f->lifetime_max_ns == UINT64_MAX && !f->backtrace && !f->deallocation_backtrace &&
	       !asks_stacks(f) && f->alive_at_ns == NO_TIME && f->alive_at_2_ns == NO_TIME &&
	       !f->thread && !f->thread_name && !asks_row_bits(f) && !f->before_start;
}

int matcher_init(struct matcher *matcher, struct view *view, const struct filter *filter,
		 struct err_text *err)
{
	int r = 0;

	*matcher = (struct matcher){
		.filter = filter,
		.recording = view->recording,
		.rows = recording_rows(view->recording),
		.end_ns = recording_end_ns(view->recording),
		.everything = asks_nothing(filter),
	};
	if (asks_stacks(filter))
		r = judge_stacks(matcher, view, err);
	if (!r && filter->lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED)
		r = judge_leaked_groups(matcher, err);
	if (!r && filter->lifetime == LIFETIME_ONLY_CHAIN_LEAKED)
		r = judge_chains(matcher, err);
	if (!r && asks_groups(filter))
		r = judge_groups(matcher, view, err);
	if (!r && asks_row_bits(filter))
		r = judge_rows(matcher, view, err);
	if (!r && filter->thread_name)
		r = judge_threads(matcher, err);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r < 0)
		matcher_done(matcher);
	return r;
}

void matcher_done(struct matcher *matcher)
{
	free(take_ptr(matcher->node_passes));
	free(take_ptr(matcher->chain_leaks));
	free(take_ptr(matcher->row_passes));
	free(take_ptr(matcher->thread_passes));
}

int matcher_cancelled(const struct matcher *matcher, struct err_text *err)
{
	if (matcher->filter->cancelled && *matcher->filter->cancelled)
		return err_set(err, -ECANCELED, "the question was withdrawn");
	return 0;
}

uint32_t matcher_block(const struct matcher *matcher, const struct row_block *block)
{
	const struct filter *f = matcher->filter;
	uint64_t left;

	if (f->before_start || block->first_row >= matcher->rows)
		return 0;
	if (block->min.birth_ns > f->to_ns || block->max.birth_ns < f->from_ns ||
	    block->min.size > f->size_max || block->max.size < f->size_min ||
	    block->min.address > f->address_max || block->max.address < f->address_min)
		return 0;
	if ((f->alive_at_ns != NO_TIME && block->min.birth_ns > f->alive_at_ns) ||
	    (f->alive_at_2_ns != NO_TIME && block->min.birth_ns > f->alive_at_2_ns))
		return 0;
	left = matcher->rows - block->first_row;
	return left < block->count ? (uint32_t)left : block->count;
}

static bool ended_in_range(const struct filter *f, const struct row_block *block, uint32_t i)
{
	return row_freed(block, i) && block->death_ns[i] >= f->from_ns &&
	       block->death_ns[i] <= f->to_ns;
}

static bool lifetime_passes(const struct matcher *m, const struct row_block *block, uint32_t i)
{
	const struct filter *f = m->filter;
	uint64_t death = block->death_ns[i] == NO_TIME ? m->end_ns : block->death_ns[i];
	uint64_t lived = death > block->birth_ns[i] ? death - block->birth_ns[i] : 0;
	uint64_t row = block->first_row + i;

	if (lived < f->lifetime_min_ns || lived > f->lifetime_max_ns)
		return false;
	switch (f->lifetime) {
	case LIFETIME_ALL:
		return true;
	case LIFETIME_ONLY_LEAKED:
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		return row_leaked(block, i);
	case LIFETIME_ONLY_TEMPORARY:
		return row_freed(block, i);
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		return !ended_in_range(f, block, i);
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		return ended_in_range(f, block, i);
	case LIFETIME_ONLY_CHAIN_LEAKED:
		return m->chain_leaks[row / 8] >> row % 8 & 1;
	}
	return false;
}

bool matcher_row_filtered(const struct matcher *matcher, const struct row_block *block, uint32_t i)
{
	const struct filter *f = matcher->filter;
	uint32_t stack = block->stack[i];

	if (block->birth_ns[i] < f->from_ns || block->birth_ns[i] > f->to_ns)
		return false;
	if (block->size[i] < f->size_min || block->size[i] > f->size_max ||
	    block->address[i] < f->address_min || block->address[i] > f->address_max)
		return false;
	if ((f->thread && block->thread[i] != f->thread) ||
	    (f->backtrace && stack != f->backtrace) ||
	    (f->deallocation_backtrace && block->death_stack[i] != f->deallocation_backtrace))
		return false;
	if ((f->alive_at_ns != NO_TIME && !row_alive(block, i, f->alive_at_ns)) ||
	    (f->alive_at_2_ns != NO_TIME && !row_alive(block, i, f->alive_at_2_ns)))
		return false;
	if (matcher->row_passes && !row_bit(matcher->row_passes, block->first_row + i))
		return false;
	if (matcher->thread_passes &&
	    !matcher->thread_passes[block->thread[i] <= matcher->threads ? block->thread[i] : 0])
		return false;
	if (matcher->node_passes && !matcher->node_passes[stack <= matcher->nodes ? stack : 0])
		return false;
	return lifetime_passes(matcher, block, i);
}

int query_each(struct view *view, const struct filter *filter,
	       int (*row)(void *context, const struct row_block *block, uint32_t index),
	       void *context, struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	for (uint32_t b = 0; !r && b < recording_blocks(m.recording); b++) {
		const struct row_block *block = recording_block(m.recording, b);
		uint32_t count = matcher_block(&m, block);

		r = matcher_cancelled(&m, err);
		for (uint32_t i = 0; !r && i < count; i++)
			if (matcher_row(&m, block, i))
				r = row(context, block, i);
	}
	matcher_done(&m);
	return r;
}
