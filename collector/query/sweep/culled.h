#pragma once
/*
 * Culled blocks in answers. The recording holds them as sums (struct culled_row), not as rows. A
 * filter may have conditions that a sum cannot answer: the address of a block, its chain, or a
 * range that covers a part of the sum. Such sums are left out, and query_culled counts them.
 *
 *	culled_each(&matcher, i, row)
 *		tally_add_culled(&sum, row);
 *
 * A culled block was freed: it counts as allocated and as freed, and in no number about a
 * moment.
 */
#include "collector/query/match/matcher.h"
#include "collector/query/sweep/tally.h"
#include "collector/recording/recording.h"
#include "proto/culled.h"

enum culled_fit { CULLED_NO, CULLED_UNKNOWN, CULLED_YES };

/* Tells whether the blocks of this sum match the filter. */
enum culled_fit culled_fit(const struct matcher *matcher, const struct culled_row *row);

/* Returns the number of the next sum that matches, starting at `from`, or the number of sums if
 * there is none. */
uint32_t culled_next(const struct matcher *matcher, uint32_t from);

#define culled_each(m, x)                                                                          \
	for (uint32_t x##_at = culled_next(m, 0); x##_at < recording_culled_count((m)->recording); \
	     x##_at = culled_next(m, x##_at + 1))                                                  \
		for (const struct culled_row *x = recording_culled((m)->recording, x##_at); x;     \
		     x = NULL)

static inline bool culled_counts(enum value value)
{
	return value == VALUE_ALLOCATED || value == VALUE_FREED;
}

void tally_add_culled(struct tally *tally, const struct culled_row *row);
