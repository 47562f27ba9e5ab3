/* Groups blocks by backtrace and thread, like groups.c but with the thread in the key. See
 * query.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "collector/query/match/view.h"
#include "collector/query/time/peak.h"

#include "base/ban.h"

struct sum {
	uint32_t node, thread;
	struct tally allocated, value;
};

struct sums {
	enum value value;
	uint64_t at_ns;
	uint32_t nodes;
	struct sum *list;
	uint32_t count, capacity;
	struct map by_key; /* node << 32 | thread -> index + 1 */
	uint16_t *room;
	bool apart; /* survivors count as alive only */
};

static void sums_free(void *sums)
{
	struct sums *s = sums;

	if (!s)
		return;
	free(s->list);
	free(s->room);
	map_done(&s->by_key);
	free(s);
}

DEFINE_CLEANUP(sums_free, void *)

static int sums_new(void *context, void **ret_sums)
{
	const struct sums *like = context;
	cleanup(cleanup_sums_free) void *made = calloc(1, sizeof(struct sums));
	struct sums *s = made;

	if (!s)
		return -ENOMEM;
	s->value = like->value;
	s->at_ns = like->at_ns;
	s->nodes = like->nodes;
	s->apart = like->apart;
	s->room = malloc(ROWS_PER_BLOCK * sizeof(*s->room));
	if (!s->room)
		return -ENOMEM;
	*ret_sums = take_ptr(made);
	return 0;
}

static struct sum *thread_groups_sum_of(struct sums *s, uint32_t node, uint32_t thread)
{
	uint64_t *index;

	if (node > s->nodes)
		node = 0;
	index = map_put(&s->by_key, (uint64_t)node << 32 | thread, NULL);
	if (!index)
		return NULL;
	if (*index)
		return &s->list[*index - 1];
	if (array_reserve(&s->list, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->list)) < 0)
		return NULL;
	s->list[s->count] = (struct sum){.node = node, .thread = thread};
	*index = ++s->count;
	return &s->list[s->count - 1];
}

static int thread_groups_add_rows(void *sums, const struct row_block *block,
				  const struct row_set *rows)
{
	struct sums *s = sums;
	struct row_set counted;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		struct sum *sum = thread_groups_sum_of(s, block->stack[i], block->thread[i]);

		if (!sum)
			return -ENOMEM;
		if (!s->apart || !row_survivor(block, i))
			tally_add_row(&sum->allocated, block, i);
	}
	counted = value_select(s->value, s->at_ns, block, rows, s->room);
	for (uint32_t k = 0; k < counted.count; k++) {
		uint32_t i = row_at(&counted, k);
		struct sum *sum = thread_groups_sum_of(s, block->stack[i], block->thread[i]);

		if (!sum)
			return -ENOMEM;
		if (!s->apart || !row_survivor(block, i) || value_has_survivors(s->value))
			tally_add_row(&sum->value, block, i);
	}
	return 0;
}

static int thread_groups_merge(void *context, void *part)
{
	struct sums *into = context;
	const struct sums *from = part;

	for (uint32_t i = 0; i < from->count; i++) {
		struct sum *sum =
			thread_groups_sum_of(into, from->list[i].node, from->list[i].thread);

		if (!sum)
			return -ENOMEM;
		tally_merge(&sum->allocated, &from->list[i].allocated);
		tally_merge(&sum->value, &from->list[i].value);
	}
	return 0;
}

static int thread_groups_add_culled(struct sums *s, const struct matcher *m)
{
	culled_each(m, row)
	{
		struct sum *sum = thread_groups_sum_of(s, row->stack, row->thread);

		if (!sum)
			return -ENOMEM;
		tally_add_culled(&sum->allocated, row);
		if (culled_counts(s->value))
			tally_add_culled(&sum->value, row);
	}
	return 0;
}

/* ---- result ---- */

static int thread_groups_in_order(const void *a, const void *b)
{
	const struct thread_group *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int thread_groups_list_groups(const struct sums *s, const struct recording *recording,
				     struct thread_groups *groups)
{
	struct tally allocated = {0}, value = {0};

	groups->list = calloc((size_t)s->count + 1, sizeof(*groups->list));
	if (!groups->list)
		return -ENOMEM;
	groups->count = s->count;
	groups->at_ns = s->at_ns;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct sum *sum = &s->list[i];

		groups->list[i] = (struct thread_group){.node = sum->node,
							.thread = sum->thread,
							.allocated = tally_usage(&sum->allocated),
							.value = tally_usage(&sum->value)};
		tally_merge(&allocated, &sum->allocated);
		tally_merge(&value, &sum->value);
	}
	groups->allocated = tally_total(&allocated, recording, VALUE_ALLOCATED, NO_TIME);
	groups->value = tally_total(&value, recording, s->value, s->at_ns);
	qsort(groups->list, groups->count, sizeof(*groups->list), thread_groups_in_order);
	return 0;
}

static int thread_groups_sum_rows(struct sums *s, const struct matcher *m, struct err_text *err)
{
	const struct sweep sweep = {
		.matcher = m,
		.columns = ROWS_STACK | ROWS_THREAD | ROWS_SIZE | ROWS_WEIGHT |
			   value_columns(s->value),
		.context = s,
		.part_new = sums_new,
		.part_rows = thread_groups_add_rows,
		.part_merge = thread_groups_merge,
		.part_free = sums_free,
	};
	int r = sweep_run(&sweep, err);

	return r ? r : thread_groups_add_culled(s, m);
}

int query_thread_groups(struct view *view, const struct filter *filter, enum value value,
			uint64_t at_ns, struct thread_groups *ret_groups, struct err_text *err)
{
	struct sums like = {.value = value};
	struct thread_groups groups = {0};
	cleanup(cleanup_sums_free) void *sums = NULL;
	struct matcher m;
	int r = view_prepare(view, err);

	if (!r)
		r = value_moment(view, value, at_ns, filter, &like.at_ns, err);
	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	like.nodes = view->nodes;
	like.apart = matcher_sees_survivors(&m);
	r = sums_new(&like, &sums);
	if (!r)
		r = thread_groups_sum_rows(sums, &m, err);
	if (!r)
		r = thread_groups_list_groups(sums, view->recording, &groups);
	matcher_done(&m);
	if (r < 0)
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	*ret_groups = groups;
	return 0;
}

void thread_groups_done(struct thread_groups *groups)
{
	free(groups->list);
	*groups = (struct thread_groups){0};
}
