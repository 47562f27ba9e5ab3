/* Joins equal blocks that are in use at a moment. See in_use.h. */
#include "collector/query/sums/in_use.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* Maximum number of distinct (stack, size) pairs counted at a time; they take 18 MiB. */
#define KINDS_MAX (3u << 18)
/* Sizes of a stack that are looked for one after the other. The others are in a map. */
#define SIZES_MAX 16

/* Blocks of one stack and size. */
struct kind {
	uint64_t blocks;
	uint32_t stack, size;
	uint32_t next; /* another size of the stack, plus 1; 0: none */
};

struct gathering {
	uint32_t *first; /* by stack: its first kind, plus 1 */
	uint32_t stacks;
	struct kind *kinds;
	uint32_t kind_count, kinds_capacity;
	struct map counts; /* of further sizes: stack << 32 | size -> blocks */
	int (*take)(void *context, const struct in_use_blocks *blocks);
	void *context;
	struct tally total;
};

static void gathering_done(struct gathering *g)
{
	free(g->first);
	free(g->kinds);
	map_done(&g->counts);
}

static int in_use_hand_over(struct gathering *g)
{
	int r = 0;

	for (uint32_t i = 0; i < g->kind_count; i++) {
		const struct kind *kind = &g->kinds[i];

		g->first[kind->stack] = 0;
		if (!r)
			r = g->take(g->context, &(struct in_use_blocks){.stack = kind->stack,
									.size = kind->size,
									.blocks = kind->blocks});
	}
	g->kind_count = 0;
	map_each(&g->counts, kind)
	{
		if (!r)
			r = g->take(g->context,
				    &(struct in_use_blocks){.stack = (uint32_t)(kind->key >> 32),
							    .size = (uint32_t)kind->key,
							    .blocks = kind->value});
	}
	if (g->counts.count)
		map_clear(&g->counts);
	return r;
}

static int add_kind(struct gathering *g, const struct kind *kind)
{
	if (array_reserve(&g->kinds, &g->kinds_capacity, (uint64_t)g->kind_count + 1,
			  sizeof(*g->kinds)) < 0)
		return -ENOMEM;
	g->kinds[g->kind_count] = *kind;
	g->kinds[g->kind_count].next = g->first[kind->stack];
	g->first[kind->stack] = ++g->kind_count;
	return 0;
}

static int add_further(struct gathering *g, const struct kind *kind)
{
	uint64_t *count = map_put(&g->counts, (uint64_t)kind->stack << 32 | kind->size, NULL);

	if (!count)
		return -ENOMEM;
	*count += kind->blocks;
	return 0;
}

static int count_kind(struct gathering *g, const struct kind *kind)
{
	unsigned sizes = 0;
	int r = 0;

	for (uint32_t n = g->first[kind->stack]; n; n = g->kinds[n - 1].next, sizes++) {
		if (g->kinds[n - 1].size != kind->size)
			continue;
		g->kinds[n - 1].blocks += kind->blocks;
		return 0;
	}
	if (g->kind_count + g->counts.count >= KINDS_MAX) {
		r = in_use_hand_over(g);
		sizes = 0;
	}
	if (r)
		return r;
	return sizes < SIZES_MAX ? add_kind(g, kind) : add_further(g, kind);
}

static int in_use_add(struct gathering *g, const struct in_use_blocks *blocks)
{
	if (blocks->weight || blocks->size >= UINT32_MAX || blocks->stack >= g->stacks)
		return g->take(g->context, blocks);
	return count_kind(g, &(struct kind){.blocks = blocks->blocks,
					    .stack = blocks->stack,
					    .size = (uint32_t)blocks->size});
}

static int take_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct gathering *g = context;
	int r = 0;

	for (uint32_t k = 0; !r && k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t weight = row_weight(block, i);
		bool sampled = !block->exact && tally_is_sampled(block->size[i], weight);

		tally_add_row(&g->total, block, i);
		r = in_use_add(g, &(struct in_use_blocks){
					  .stack = block->stack[i],
					  .size = block->size[i],
					  .blocks = block->exact ? row_counts(block, i) : 1,
					  .weight = sampled ? weight : 0,
				  });
	}
	return r;
}

int query_in_use(struct view *view, const struct filter *filter, uint64_t at_ns,
		 int (*take)(void *context, const struct in_use_blocks *blocks), void *context,
		 struct usage *ret_total, struct err_text *err)
{
	struct gathering g = {.take = take, .context = context};
	struct filter alive = *filter;
	struct matcher m;
	int r;

	alive.alive_at_ns = at_ns == NO_TIME ? NO_TIME - 1 : at_ns;
	r = matcher_init(&m, view, &alive, err);
	if (r < 0)
		return r;
	g.stacks = recording_nodes(view->recording) + 1;
	g.first = calloc(g.stacks, sizeof(*g.first));
	r = g.first ? 0 : -ENOMEM;
	if (!r)
		r = sweep_in_order(&m, ROWS_SIZE | ROWS_STACK | ROWS_WEIGHT, take_rows, &g, err);
	if (!r)
		r = in_use_hand_over(&g);
	if (!r && ret_total)
		*ret_total = tally_total(&g.total, view->recording, VALUE_IN_USE, at_ns);
	matcher_done(&m);
	gathering_done(&g);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
