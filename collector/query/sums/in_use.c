/* Joins equal blocks that are in use at a moment. See in_use.h. */
#include "collector/query/sums/in_use.h"

#include <errno.h>

#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "collector/query/match/view.h"

#include "base/ban.h"

/* Maximum number of distinct (stack, size) pairs counted at a time; they take 16 MiB. */
#define KINDS_MAX   (3u << 18)
#define KINDS_FIRST 4096 /* for which there is room at once */
#define FETCH_AHEAD 16	 /* slots of the map are prefetched so many rows ahead */

struct gathering {
	struct map counts; /* stack << 32 | size -> blocks */
	int (*take)(void *context, const struct in_use_blocks *blocks);
	void *context;
	struct tally total;
};

static int in_use_hand_over(struct gathering *g)
{
	int r = 0;

	map_each(&g->counts, kind)
	{
		if (!r)
			r = g->take(g->context,
				    &(struct in_use_blocks){.stack = (uint32_t)(kind->key >> 32),
							    .size = (uint32_t)kind->key,
							    .blocks = kind->value});
	}
	map_clear(&g->counts);
	return r;
}

static uint64_t kind_of(uint32_t stack, uint64_t size)
{
	return (uint64_t)stack << 32 | size;
}

static int in_use_add(struct gathering *g, const struct in_use_blocks *blocks)
{
	uint64_t *count;
	int r = 0;

	if (blocks->weight || blocks->size >= UINT32_MAX)
		return g->take(g->context, blocks);
	if (g->counts.count >= KINDS_MAX)
		r = in_use_hand_over(g);
	count = map_put(&g->counts, kind_of(blocks->stack, blocks->size), NULL);
	if (!count)
		return -ENOMEM;
	*count += blocks->blocks;
	return r;
}

static int take_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct gathering *g = context;
	int r = 0;

	for (uint32_t k = 0; !r && k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t weight = row_weight(block, i);
		bool sampled = !block->exact && tally_is_sampled(block->size[i], weight);

		if (k + FETCH_AHEAD < rows->count) {
			uint32_t next = row_at(rows, k + FETCH_AHEAD);

			map_prefetch(&g->counts, kind_of(block->stack[next], block->size[next]));
		}
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
	r = map_reserve(&g.counts, KINDS_FIRST) ? 0 : -ENOMEM;
	if (!r)
		r = sweep_in_order(&m, ROWS_SIZE | ROWS_STACK | ROWS_WEIGHT, take_rows, &g, err);
	if (!r)
		r = in_use_hand_over(&g);
	if (!r && ret_total)
		*ret_total = tally_total(&g.total, view->recording, VALUE_IN_USE, at_ns);
	matcher_done(&m);
	map_done(&g.counts);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
