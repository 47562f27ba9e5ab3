#pragma once
/*
 * Which row is the N-th in an order by a key: found by counting, so that nobody has to sort what
 * comes before it.
 *
 * A sweep counts the rows of each bin of keys. The bin that has the N-th is cut into bins by the
 * next sweep, until it has few enough rows; a bin of equal keys is cut by the numbers of its rows.
 * Mostly one sweep does, two where many keys are equal.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

/* A row's place in the order: equal keys come in the order of their rows. */
struct rank_entry {
	uint64_t key, row;
};

/* The key of row `i`. */
uint64_t rank_key(enum page_order order, const struct row_block *block, uint32_t i);
/* The lowest and the highest one of a block. */
uint64_t rank_key_min(enum page_order order, const struct row_block *zone);
uint64_t rank_key_max(enum page_order order, const struct row_block *zone);
unsigned rank_columns(enum page_order order);

/*
 * Leaves out the first `skip` rows, of which there must be more: those that come after ret_last
 * (none does not, if `ret_any` is false) are the rest, but for the first ret_left (at most `few`)
 * of them, which have to be left out yet. 0 or as sweep_run.
 */
int rank_skip(const struct matcher *matcher, enum page_order order, bool descending, uint64_t skip,
	      uint64_t few, struct rank_entry *ret_last, bool *ret_any, uint64_t *ret_left,
	      struct err_text *err);
