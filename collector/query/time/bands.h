#pragma once
/*
 * The amount in use of several bands at given moments, computed in one pass over the rows in any
 * order. For each row two moments are determined: the first at which the block was alive, and the
 * first at which it was not any more. Most blocks were not alive at any of the moments.
 *
 *	moments   |         |         |         |
 *	row            |-------------------|
 *	change              +                   -
 */
#include "collector/query/time/history.h"

struct bands_question {
	const uint64_t *moments; /* ascending */
	uint32_t moment_count;	 /* at least one */
	uint32_t count;		 /* number of bands; at least one */
	const uint32_t *of_node; /* by node: band; NULL: the node, or label, is the band */
	uint32_t nodes;		 /* a higher node counts as 0 */
	bool blocks;		 /* units, not bytes */
};

/* Fills `values`, which must be zero: the value at moment m of band k is at [m * count + k]; blocks
 * are in units. The events of `of` have nodes. */
int bands_at(const struct history_of *of, const struct bands_question *question, int64_t *values,
	     struct err_text *err);
