/* Lists the blocks in use at a moment. See live.h. */
#include "collector/query/sums/live.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

#include "base/ban.h"

struct gathering {
	struct live_block *list;
	size_t count, capacity;
	uint64_t at_ns;
};

static int live_gather(void *context, const struct row_block *block, uint32_t i)
{
	struct gathering *g = context;

	if (!row_alive(block, i, g->at_ns))
		return 0;
	if (g->count == LIVE_BLOCKS_MAX)
		return -E2BIG;
	if (g->count == g->capacity) {
		size_t capacity = g->capacity ? g->capacity * 2 : 4096;
		struct live_block *list = reallocarray(g->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		g->list = list;
		g->capacity = capacity;
	}
	g->list[g->count++] = (struct live_block){block->address[i], block->size[i]};
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

int query_live(struct view *view, const struct filter *filter, uint64_t at_ns,
	       struct live_block **ret_list, size_t *ret_count, struct err_text *err)
{
	struct gathering g = {.at_ns = at_ns == NO_TIME ? NO_TIME - 1 : at_ns};
	int r = query_each(view, filter, live_gather, &g, err);

	if (r == -E2BIG)
		err_set(err, r, "more than %u blocks in use match: a filter may choose fewer",
			LIVE_BLOCKS_MAX);
	if (r < 0) {
		free(g.list);
		return r;
	}
	if (g.count)
		qsort(g.list, g.count, sizeof(*g.list), by_address);
	*ret_list = g.list;
	*ret_count = g.count;
	return 0;
}

/* ---- many moments ---- */

struct live_moments {
	const uint64_t *times;
	size_t count;
	uint64_t *changes; /* since the previous time; the sums may wrap around, and their result is
			      still right */
};

/* Returns the index of the first time at or after `ns`, or `count` if there is none. */
static size_t first_from(const struct live_moments *m, uint64_t ns)
{
	return numbers_below(m->times, m->count, ns);
}

static int live_add_row(void *context, const struct row_block *block, uint32_t i)
{
	struct live_moments *m = context;
	uint64_t weight = row_weight(block, i),
		 bytes = weight > block->size[i] ? weight : block->size[i];
	size_t birth = first_from(m, block->birth_ns[i]);
	size_t death = block->death_ns[i] == NO_TIME ? m->count : first_from(m, block->death_ns[i]);

	if (birth < m->count)
		m->changes[birth] += bytes;
	if (death < birth)
		death = birth;
	if (death < m->count)
		m->changes[death] -= bytes;
	return 0;
}

int query_in_use_at(struct view *view, const struct filter *filter, const uint64_t *times,
		    size_t count, uint64_t *ret_bytes, struct err_text *err)
{
	struct live_moments moments = {times, count, ret_bytes};
	int r;

	for (size_t i = 0; i < count; i++)
		ret_bytes[i] = 0;
	r = query_each(view, filter, live_add_row, &moments, err);
	for (size_t i = 1; !r && i < count; i++)
		ret_bytes[i] += ret_bytes[i - 1];
	return r;
}
