#pragma once
/*
 * Finds the N-th row in an order by counting, so that the rows before it need not be sorted.
 *
 * A sweep counts the rows in each bin of keys. The next sweep divides the bin with the N-th row
 * into bins, until the bin has few enough rows. A bin of equal keys is divided by row numbers. One
 * sweep is usually enough; two where many keys are equal.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

/* A row's place in the order: rows with equal keys are ordered by row number. */
struct rank_entry {
	uint64_t key, row;
};

/* Returns the key of row `i`. */
uint64_t rank_key(enum page_order order, const struct row_block *block, uint32_t i);
/* Return the lowest and the highest key of a block. */
uint64_t rank_key_min(enum page_order order, const struct row_block *zone);
uint64_t rank_key_max(enum page_order order, const struct row_block *zone);
unsigned rank_columns(enum page_order order);

/*
 * Skips the first `skip` rows; there must be more than that. The remaining rows are those that come
 * after ret_last (all rows, if `ret_any` is false), without the first ret_left of them, which the
 * caller has yet to skip (at most `few`). Returns 0 or an error as sweep_run.
 */
int rank_skip(const struct matcher *matcher, enum page_order order, bool descending, uint64_t skip,
	      uint64_t few, struct rank_entry *ret_last, bool *ret_any, uint64_t *ret_left,
	      struct err_text *err);
