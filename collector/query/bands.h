#pragma once
/*
 * What several bands had in use in each bucket of a timeline, at the first moment of it at which most was in use of all together.
 *
 *	bytes   ___      a bucket: the values of all bands are those of the moment m,
 *	    ___|m  |_    so they add up to the highest that was in use
 *	___|         |___
 *
 * Births and deaths are followed in the order of time (history.h). A part of it knows only how far it went from where it began; parts are put
 * together in order.
 */
#include "collector/query/history.h"

struct bands_question {
	uint64_t from_ns, to_ns, width_ns; /* of the buckets */
	uint32_t buckets;
	uint32_t count;		 /* of bands; one at least */
	const uint32_t *of_node; /* by node: band; NULL: the node is it */
	uint32_t nodes;		 /* a higher one is taken for 0 */
	bool blocks;		 /* units, not bytes */
};

/* Fills `values`, zeros before: of bucket b and band k at [b * count + k]; blocks in units. `of` has events with nodes. */
int bands_follow(const struct history_of *of, const struct bands_question *question, int64_t *values, struct err_text *err);
