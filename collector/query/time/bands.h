#pragma once
/*
 * What several bands had in use at given moments: one pass over the rows, in any order. Of each row
 * two moments are looked for: the first at which it was there, and the first at which it was not
 * any more; most rows were not there at any.
 *
 *	moments   |         |         |         |
 *	row            |-------------------|
 *	change              +                   -
 */
#include "collector/query/time/history.h"

struct bands_question {
	const uint64_t *moments; /* they rise */
	uint32_t moment_count;	 /* one at least */
	uint32_t count;		 /* of bands; one at least */
	const uint32_t *of_node; /* by node: band; NULL: the node, or label, is it */
	uint32_t nodes;		 /* a higher one is taken for 0 */
	bool blocks;		 /* units, not bytes */
};

/* Fills `values`, zeros before: of moment m and band k at [m * count + k]; blocks in units. `of`
 * has events with nodes. */
int bands_at(const struct history_of *of, const struct bands_question *question, int64_t *values,
	     struct err_text *err);
