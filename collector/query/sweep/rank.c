/* Finds rows by rank. See rank.h. */
#include "collector/query/sweep/rank.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/sweep.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

/* Bins of distances: distances below 1 << EXACT_BITS have a bin each; above, each power of 2 has 1
 * << FRACTION_BITS bins. */
#define EXACT_BITS    12
#define FRACTION_BITS 11
#define BINS	      ((1u << EXACT_BITS) + ((64u - EXACT_BITS) << FRACTION_BITS))

struct range {
	struct rank_entry low, high; /* both included */
};

struct counting {
	const struct matcher *matcher;
	enum page_order order;
	struct range range;
	uint64_t *bins;
};

struct part {
	enum page_order order;
	struct range range;
	uint64_t bins[BINS];
};

uint64_t rank_key(enum page_order order, const struct row_block *block, uint32_t i)
{
	return order == PAGE_BY_SIZE ? block->size[i] : block->address[i];
}

uint64_t rank_key_min(enum page_order order, const struct row_block *zone)
{
	return order == PAGE_BY_SIZE ? zone->min.size : zone->min.address;
}

uint64_t rank_key_max(enum page_order order, const struct row_block *zone)
{
	return order == PAGE_BY_SIZE ? zone->max.size : zone->max.address;
}

unsigned rank_columns(enum page_order order)
{
	return order == PAGE_BY_SIZE ? ROWS_SIZE : ROWS_ADDRESS;
}

static uint32_t bin_of(uint64_t distance)
{
	unsigned power;

	if (distance < 1u << EXACT_BITS)
		return (uint32_t)distance;
	power = 63 - (unsigned)__builtin_clzll(distance);
	return (1u << EXACT_BITS) + ((power - EXACT_BITS) << FRACTION_BITS) +
	       (uint32_t)(distance >> (power - FRACTION_BITS) & ((1u << FRACTION_BITS) - 1));
}

/* Returns the lowest distance of a bin; for BINS, what follows all distances. */
static uint64_t bin_start(uint32_t bin)
{
	uint32_t over = bin - (1u << EXACT_BITS);
	unsigned power;

	if (bin < 1u << EXACT_BITS)
		return bin;
	power = EXACT_BITS + (over >> FRACTION_BITS);
	return power > 63 ? UINT64_MAX
			  : (1ull << power) + ((uint64_t)(over & ((1u << FRACTION_BITS) - 1))
					       << (power - FRACTION_BITS));
}

static bool by_rows(const struct range *range)
{
	return range->low.key == range->high.key;
}

/* ---- counting ---- */

static bool skips(const void *context, const struct row_block *zone)
{
	const struct counting *c = context;

	return rank_key_max(c->order, zone) < c->range.low.key ||
	       rank_key_min(c->order, zone) > c->range.high.key;
}

static int rank_part_new(void *context, void **ret_part)
{
	const struct counting *c = context;
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	part->order = c->order;
	part->range = c->range;
	*ret_part = part;
	return 0;
}

static int rank_part_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct part *p = context;
	const struct range range = p->range;
	bool rows_only = by_rows(&range);

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t key = rank_key(p->order, block, i), row = block->first_row + i;

		if (key < range.low.key || key > range.high.key)
			continue;
		if (!rows_only)
			p->bins[bin_of(key - range.low.key)]++;
		else if (row >= range.low.row && row <= range.high.row)
			p->bins[bin_of(row - range.low.row)]++;
	}
	return 0;
}

static int rank_part_merge(void *context, void *part)
{
	const struct counting *c = context;
	const struct part *p = part;

	for (uint32_t i = 0; i < BINS; i++)
		c->bins[i] += p->bins[i];
	return 0;
}

static int rank_count(struct counting *c, struct err_text *err)
{
	for (uint32_t i = 0; i < BINS; i++)
		c->bins[i] = 0;
	return sweep_run(&(struct sweep){.matcher = c->matcher,
					 .columns = rank_columns(c->order),
					 .context = c,
					 .skips = skips,
					 .part_new = rank_part_new,
					 .part_rows = rank_part_rows,
					 .part_merge = rank_part_merge,
					 .part_free = free},
			 err);
}

/* ---- narrowing ---- */

static struct range rank_cut(const struct range *range, uint32_t bin)
{
	struct range r = *range;
	uint64_t first = bin_start(bin),
		 last = bin_start(bin + 1) - (bin_start(bin + 1) != UINT64_MAX);

	if (by_rows(range)) {
		r.low.row = range->low.row + first;
		if (last < range->high.row - range->low.row)
			r.high.row = range->low.row + last;
		return r;
	}
	r.low.key = range->low.key + first;
	if (last < range->high.key - range->low.key)
		r.high.key = range->low.key + last;
	return r;
}

/* Narrows the range to the bin with row number `*skip` (from 1), which becomes the row's number
 * within the bin. Returns the number of rows in the bin. */
static uint64_t narrow(struct counting *c, bool descending, uint64_t *skip)
{
	for (uint32_t i = 0; i < BINS; i++) {
		uint32_t bin = descending ? BINS - 1 - i : i;

		if (c->bins[bin] >= *skip) {
			c->range = rank_cut(&c->range, bin);
			return c->bins[bin];
		}
		*skip -= c->bins[bin];
	}
	return 0;
}

static struct range whole(const struct matcher *matcher, enum page_order order)
{
	struct range range = {.low.key = UINT64_MAX, .high.row = UINT64_MAX};

	for (uint32_t i = 0; i < recording_blocks(matcher->recording); i++) {
		const struct row_block *zone = recording_zone(matcher->recording, i);
		uint64_t min = rank_key_min(order, zone), max = rank_key_max(order, zone);

		range.low.key = min < range.low.key ? min : range.low.key;
		range.high.key = max > range.high.key ? max : range.high.key;
	}
	return range;
}

/* Returns the entry just before a range in the order. False: there is none. */
static bool just_before(const struct range *range, bool descending, struct rank_entry *ret)
{
	const struct rank_entry *edge = descending ? &range->high : &range->low;
	uint64_t end = descending ? UINT64_MAX : 0;

	*ret = *edge;
	if (edge->row != end)
		ret->row += descending ? 1 : UINT64_MAX;
	else if (edge->key != end)
		*ret = (struct rank_entry){descending ? edge->key + 1 : edge->key - 1, ~end};
	else
		return false;
	return true;
}

int rank_skip(const struct matcher *matcher, enum page_order order, bool descending, uint64_t skip,
	      uint64_t few, struct rank_entry *ret_last, bool *ret_any, uint64_t *ret_left,
	      struct err_text *err)
{
	struct counting c = {.matcher = matcher, .order = order, .range = whole(matcher, order)};
	uint64_t left = skip, there = UINT64_MAX;
	int r = 0;

	c.bins = malloc(BINS * sizeof(*c.bins));
	if (!c.bins)
		return err_set(err, -ENOMEM, "out of memory");
	while (!r && left > few && there > few) {
		r = rank_count(&c, err);
		if (!r)
			there = narrow(&c, descending, &left);
	}
	free(c.bins);
	*ret_left = left;
	*ret_any = there != UINT64_MAX && just_before(&c.range, descending, ret_last);
	return r;
}
