/* Makes the lookup tables of columns. See facts.h. */
#include "collector/sql/facts.h"
#include "collector/query/hidden.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/mark_index.h"
#include "collector/query/match/map_spans.h"
#include "collector/sql/state.h"
#include "collector/recording/culled.h"
#include "collector/recording/recording.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"

#include "base/ban.h"

#define CHAIN_COLUMNS (ROWS_SIZE | ROWS_BIRTH | ROWS_DEATH | ROWS_CHAIN)

DEFINE_CLEANUP(row_walk_free, struct row_walk *)

struct facts {
	uint32_t nodes;
	struct site {
		uint32_t node, frame; /* node 0: not looked up yet */
	} * sites;		      /* by node */
	uint32_t *depth;	      /* by node */
	struct row_cache *rows;
	struct chain_walk chains;
	struct mark_index marks;
	bool has_marks, has_heap, has_mappings, has_stacks;
	struct glibc_heap heap;
	struct mappings mappings;
	struct map_spans spans;
	struct row_bits *bits[FACTS_BITS];
	uint32_t *stacks, stack_count;
	uint32_t *sums_of; /* by node: index + 1 */
	struct stack_sums *sums;
};

/* Returns the session's tables, or NULL without memory. */
static struct facts *facts_of(struct sql *sql)
{
	if (!sql->facts) {
		sql->facts = calloc(1, sizeof(*sql->facts));
		if (sql->facts)
			sql->facts->nodes = recording_nodes(sql->recording);
	}
	return sql->facts;
}

void facts_free(struct facts *facts)
{
	if (!facts)
		return;
	free(facts->sites);
	free(facts->depth);
	row_cache_free(facts->rows);
	mark_index_done(&facts->marks);
	mappings_done(&facts->mappings);
	map_spans_done(&facts->spans);
	for (unsigned i = 0; i < FACTS_BITS; i++)
		free(facts->bits[i]);
	free(facts->stacks);
	free(facts->sums_of);
	free(facts->sums);
	free(facts);
}

/* ---- stacks ---- */

static uint32_t facts_parent_of(const struct sql *sql, uint32_t node)
{
	const struct stack_node *n = recording_node(sql->recording, node);

	return n && n->parent < node ? n->parent : 0;
}

static bool frame_is_hidden(struct sql *sql, uint32_t node, uint32_t index)
{
	struct view_frame frame = view_frame(sql->view, node, index);

	return view_frame_hidden(&frame, sql->filter.hide);
}

static struct site find_site(struct sql *sql, uint32_t stack)
{
	for (uint32_t node = stack; node; node = facts_parent_of(sql, node))
		for (uint32_t i = 0; i < view_frame_count(sql->view, node); i++)
			if (!frame_is_hidden(sql, node, i))
				return (struct site){node, i};
	return (struct site){stack, 0};
}

bool facts_site(struct sql *sql, uint32_t stack, struct view_frame *ret_frame)
{
	struct facts *f = facts_of(sql);
	struct site *site;

	if (f && !f->sites && query_find_wrappers(sql->view, &sql->filter, NULL) == 0)
		f->sites = calloc((size_t)f->nodes + 1, sizeof(*f->sites));
	if (!f || !f->sites || !stack || stack > f->nodes)
		return false;
	site = &f->sites[stack];
	if (!site->node)
		*site = find_site(sql, stack);
	*ret_frame = view_frame(sql->view, site->node, site->frame);
	return true;
}

uint32_t facts_depth(struct sql *sql, uint32_t stack)
{
	struct facts *f = facts_of(sql);

	if (!f || stack > f->nodes)
		return 0;
	if (!f->depth) {
		f->depth = calloc((size_t)f->nodes + 1, sizeof(*f->depth));
		for (uint32_t n = 1; f->depth && n <= f->nodes; n++)
			f->depth[n] = f->depth[facts_parent_of(sql, n)] + 1;
	}
	return f->depth ? f->depth[stack] : 0;
}

/* ---- sums by stack ---- */

static int mark_rows(struct sql *sql, uint8_t *there, uint32_t nodes, struct err_text *err)
{
	cleanup(cleanup_row_walk_free) struct row_walk *walk = NULL;
	struct walked_rows rows;
	int r = row_walk_new(sql->view, &sql->filter, ROWS_STACK | ROWS_DEATH_STACK, 0, UINT64_MAX,
			     &walk, err);

	if (r < 0)
		return r;
	while ((r = row_walk_next(walk, &rows, err)) > 0) {
		if (guard_ended(sql))
			return sql->ended;
		for (uint32_t k = 0; k < rows.count; k++) {
			uint32_t i = walked_row(&rows, k), a = rows.block->stack[i],
				 b = rows.block->death_stack[i];

			there[a <= nodes ? a : 0] = 1;
			if (b && b <= nodes)
				there[b] = 1;
		}
	}
	return r;
}

static void mark_others(struct sql *sql, uint8_t *there, uint32_t nodes)
{
	for (uint32_t i = 0; i < recording_culled_count(sql->recording); i++) {
		uint32_t stack = recording_culled(sql->recording, i)->stack;

		there[stack <= nodes ? stack : 0] = 1;
	}
	for (uint32_t i = 0; i < recording_other_events(sql->recording); i++) {
		uint32_t stack = recording_other_event(sql->recording, i)->stack;

		if (stack && stack <= nodes)
			there[stack] = 1;
	}
}

static int list_stacks(struct sql *sql, struct facts *f, struct err_text *err)
{
	cleanup(cleanup_free) uint8_t *there = calloc((size_t)f->nodes + 1, 1);
	int r;

	f->stacks = malloc(((size_t)f->nodes + 1) * sizeof(*f->stacks));
	if (!there || !f->stacks)
		return err_set(err, -ENOMEM, "out of memory");
	r = mark_rows(sql, there, f->nodes, err);
	mark_others(sql, there, f->nodes);
	for (uint32_t n = 0; !r && n <= f->nodes; n++)
		if (there[n])
			f->stacks[f->stack_count++] = n;
	f->has_stacks = !r;
	return r;
}

int facts_stacks(struct sql *sql, const uint32_t **ret_list, uint32_t *ret_count,
		 struct err_text *err)
{
	struct facts *f = facts_of(sql);
	int r = 0;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	if (!f->has_stacks) {
		free(take_ptr(f->stacks));
		f->stack_count = 0;
		r = list_stacks(sql, f, err);
	}
	if (r < 0)
		return r;
	*ret_list = f->stacks;
	*ret_count = f->stack_count;
	return 0;
}

static int facts_compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

bool facts_has_stack(struct sql *sql, uint32_t stack)
{
	const struct facts *f = sql->facts;

	return f && f->has_stacks && f->stack_count &&
	       bsearch(&stack, f->stacks, f->stack_count, sizeof(*f->stacks),
		       facts_compare_numbers);
}

static struct stack_sums *sums_at(struct facts *f, uint32_t node, uint32_t *count)
{
	if (node > f->nodes)
		node = 0;
	if (!f->sums_of[node])
		f->sums_of[node] = ++*count;
	return &f->sums[f->sums_of[node] - 1];
}

static int fill_sums(struct sql *sql, struct facts *f, struct err_text *err)
{
	struct groups groups = {0};
	struct allocation_groups rows = {0};
	uint32_t count = 0;
	int r = query_groups(sql->view, &sql->filter, GROUP_BY_BACKTRACE, VALUE_ALLOCATED, NO_TIME,
			     &groups, err);

	if (!r)
		r = query_allocation_groups(sql->view, &sql->filter, &rows, err);
	f->sums_of = calloc((size_t)f->nodes + 1, sizeof(*f->sums_of));
	f->sums = calloc(groups.count + rows.count + 1, sizeof(*f->sums));
	if (!r && (!f->sums_of || !f->sums))
		r = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < groups.count; i++) {
		const struct group *g = &groups.list[i];
		struct stack_sums *s = sums_at(f, g->node, &count);

		s->allocated = g->allocated;
		s->leaked = g->leaked;
		s->freed = g->freed;
	}
	for (size_t i = 0; !r && i < rows.count; i++) {
		struct stack_sums *s = sums_at(f, rows.list[i].node, &count);

		s->rows = rows.list[i].all;
		s->peak_ns = rows.list[i].peak_ns;
	}
	groups_done(&groups);
	allocation_groups_done(&rows);
	return r;
}

int facts_sums(struct sql *sql, uint32_t stack, const struct stack_sums **ret_sums,
	       struct err_text *err)
{
	struct facts *f = facts_of(sql);
	int r = 0;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	if (!f->sums_of)
		r = fill_sums(sql, f, err);
	if (r < 0) {
		free(take_ptr(f->sums_of));
		free(take_ptr(f->sums));
		return r;
	}
	*ret_sums = stack <= f->nodes && f->sums_of[stack] ? &f->sums[f->sums_of[stack] - 1] : NULL;
	return 0;
}

/* ---- rows ---- */

static bool facts_ended(void *context)
{
	return guard_ended(context);
}

static int facts_open_rows(struct sql *sql, struct facts *f, struct err_text *err)
{
	if (f && f->rows)
		return 0;
	if (!f || row_cache_new(sql->recording, CHAIN_COLUMNS, &f->rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	chain_walk_init(&f->chains, sql->recording, facts_ended, sql);
	return 0;
}

int facts_chain(struct sql *sql, uint64_t row, struct chain_place *ret_place, struct err_text *err)
{
	struct facts *f = facts_of(sql);
	int r = facts_open_rows(sql, f, err);

	return r ? r : chain_walk_find(&f->chains, f->rows, row, ret_place, err);
}

const struct row_block *facts_row(struct sql *sql, uint64_t row, uint32_t *ret_index,
				  struct err_text *err)
{
	struct facts *f = facts_of(sql);

	return facts_open_rows(sql, f, err) < 0 ? NULL
						: row_cache_get(f->rows, row, ret_index, err);
}

static int facts_judge_rows(struct sql *sql, enum facts_bit which, struct row_bits *bits,
			    struct err_text *err)
{
	cleanup(cleanup_row_walk_free) struct row_walk *walk = NULL;
	struct filter filter = sql->filter;
	struct walked_rows rows;
	int r;

	if (which == FACTS_CHAIN_LEAKED)
		filter.lifetime = LIFETIME_ONLY_CHAIN_LEAKED;
	else
		filter.freed_at_once = ANSWER_YES;
	r = row_walk_new(sql->view, &filter, 0, 0, bits->rows, &walk, err);
	while (!r && (r = row_walk_next(walk, &rows, err)) > 0) {
		for (uint32_t k = 0; k < rows.count; k++) {
			uint64_t row = rows.block->first_row + walked_row(&rows, k);

			bits->bits[row / 8] |= (uint8_t)(1u << row % 8);
		}
		r = guard_ended(sql) ? sql->ended : 0;
	}
	return r;
}

int facts_bit(struct sql *sql, enum facts_bit which, uint64_t row, struct err_text *err)
{
	struct facts *f = facts_of(sql);
	int r = 0;

	if (f && !f->bits[which]) {
		f->bits[which] = row_bits_new(recording_rows(sql->recording));
		if (f->bits[which])
			r = facts_judge_rows(sql, which, f->bits[which], err);
		if (r < 0)
			free(take_ptr(f->bits[which]));
	}
	if (r < 0)
		return r;
	if (!f || !f->bits[which])
		return err_set(err, -ENOMEM, "out of memory");
	return row < f->bits[which]->rows && (f->bits[which]->bits[row / 8] >> row % 8 & 1);
}

/* ---- marks and mappings ---- */

static const struct mark_index *marks_of(struct sql *sql)
{
	struct facts *f = facts_of(sql);

	if (f && !f->has_marks)
		f->has_marks = mark_index_init(&f->marks, sql->recording) == 0;
	return f && f->has_marks ? &f->marks : NULL;
}

uint64_t facts_marker(struct sql *sql, uint64_t time_ns)
{
	const struct mark_index *marks = marks_of(sql);

	return marks ? mark_index_number(marks, time_ns) : 0;
}

const char *facts_label(struct sql *sql, uint32_t thread, uint64_t time_ns)
{
	const struct mark_index *marks = marks_of(sql);
	uint32_t mark = marks ? mark_index_label(marks, thread, time_ns) : MARK_NONE;

	return mark == MARK_NONE ? NULL : recording_mark(sql->recording, mark)->text;
}

const struct glibc_heap *facts_heap(struct sql *sql)
{
	static const struct glibc_heap unknown;
	struct facts *f = facts_of(sql);

	if (!f)
		return &unknown;
	if (!f->has_heap)
		glibc_heap_init(&f->heap, sql->recording);
	f->has_heap = true;
	return &f->heap;
}

int facts_mappings(struct sql *sql, const struct mappings **ret_mappings, struct err_text *err)
{
	struct facts *f = facts_of(sql);
	int r = 0;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	if (!f->has_mappings) {
		r = query_mappings(sql->view, true, &sql->filter.cancel, &f->mappings, err);
		if (!r && map_spans_init(&f->spans, &f->mappings) < 0) {
			mappings_done(&f->mappings);
			r = err_set(err, -ENOMEM, "out of memory");
		}
		f->has_mappings = !r;
	}
	if (!r)
		*ret_mappings = &f->mappings;
	return r;
}

int facts_map(struct sql *sql, uint64_t address, uint64_t birth_ns, uint64_t *ret_map,
	      struct err_text *err)
{
	const struct mappings *mappings;
	int r = facts_mappings(sql, &mappings, err);

	return r < 0 ? r : map_spans_find(&sql->facts->spans, address, birth_ns, ret_map);
}
