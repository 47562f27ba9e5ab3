#pragma once
/*
 * Culled blocks in answers. They are sums (struct culled_row) and no rows, so a filter may ask what
 * they can't tell: the address of a block, its chain, or a range that cuts through a sum. Such sums
 * are left out, and query_culled counts them.
 *
 *	culled_each(&matcher, i, row)
 *		tally_add_culled(&sum, row);
 *
 * A culled block was freed: it is among what was allocated and what was temporary, and in no number
 * that is about a moment.
 */
#include "collector/query/match/matcher.h"
#include "collector/query/sweep/tally.h"
#include "collector/recording/recording.h"
#include "proto/culled.h"

enum culled_fit { CULLED_NO, CULLED_UNKNOWN, CULLED_YES };

/* Do the blocks of this sum match the filter? */
enum culled_fit culled_fit(const struct matcher *matcher, const struct culled_row *row);

/* The number of the next sum that matches, from `from` on; their count: there is none. */
uint32_t culled_next(const struct matcher *matcher, uint32_t from);

#define culled_each(m, x)                                                                          \
	for (uint32_t x##_at = culled_next(m, 0); x##_at < recording_culled_count((m)->recording); \
	     x##_at = culled_next(m, x##_at + 1))                                                  \
		for (const struct culled_row *x = recording_culled((m)->recording, x##_at); x;     \
		     x = NULL)

static inline bool culled_counts(enum value value)
{
	return value == VALUE_ALLOCATED || value == VALUE_TEMPORARY;
}

void tally_add_culled(struct tally *tally, const struct culled_row *row);
