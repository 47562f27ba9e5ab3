#pragma once
/*
 * Blocks that the agent culled (proto/culled.h). Rows with the same key, from whatever batch, are
 * merged into one. A culled block has no row in the table of allocations and no known time of life;
 * it counts in totals but not in a timeline.
 *
 * Memory is bounded against untrusted input: beyond CULLED_SUMS_MAX keys a row loses its thread and
 * stack, and blocks that have no place even then are counted in `left_out`.
 */
#include "base/map.h"
#include "proto/culled.h"
#include "collector/recording/info.h"

#define CULLED_SUMS_MAX (1u << 20)
#define CULLED_REST_MAX (1u << 12) /* further rows, without thread and stack */

struct definitions;

struct culled {
	struct culled_row *list;
	uint32_t *next; /* chain of rows with the same hash: number + 1 */
	uint32_t count, capacity, next_capacity;
	struct map by_hash; /* hash -> number + 1 of the last row with it */
	struct culled_totals totals;
};

void culled_done(struct culled *culled);
/* Checks a message by decoding every column to its end. Returns 0, or -EBADMSG with a sentence. */
int culled_check(const Heapcast__Culled *from, struct err_text *err);
/*
 * Takes a message that culled_check has accepted. Maps numbers of threads and nodes to those of the
 * definitions, or to 0 if they are undefined. Returns 0 or -ENOMEM.
 */
int culled_take(struct culled *culled, const Heapcast__Culled *from,
		struct definitions *definitions);
/* Adds a row that comes from another list of this kind. Returns 0 or -ENOMEM. */
int culled_restore(struct culled *culled, const struct culled_row *row);
/*
 * Merges a row into the row with the same key. Returns 0, -ENOMEM, or -ENOSPC if there are
 * CULLED_SUMS_MAX rows.
 */
int culled_add(struct culled *culled, const struct culled_row *row);
