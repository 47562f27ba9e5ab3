#pragma once
/*
 * Blocks that the agent culled (proto/culled.h): rows of the same key, from whatever batch, are one
 * row here. There is no row of the table of allocations for such a block, and no moment at which it
 * was alive: it is in totals, not in a timeline.
 *
 * What a stranger sends is bounded: beyond CULLED_SUMS_MAX keys a row loses thread and stack, and
 * what has no place even then is counted in `left_out`.
 */
#include "base/map.h"
#include "proto/culled.h"
#include "collector/recording/info.h"

#define CULLED_SUMS_MAX (1u << 20)
#define CULLED_REST_MAX (1u << 12) /* more, without thread and stack */

struct definitions;

struct culled {
	struct culled_row *list;
	uint32_t *next; /* of the same hash: number + 1 */
	uint32_t count, capacity, next_capacity;
	struct map by_hash; /* -> number + 1 of the last row with it */
	struct culled_totals totals;
};

void culled_done(struct culled *culled);
/* Every column is read to its end, and nothing is taken. 0 or -EBADMSG. */
int culled_check(const Heapcast__Culled *from, struct err_text *err);
/* Takes a message that was checked; numbers of threads and nodes are put to those of the
 * definitions, 0 where nothing defined them. 0 or -ENOMEM. */
int culled_take(struct culled *culled, const Heapcast__Culled *from,
		struct definitions *definitions);
/* Puts a row back that was in another list of this kind. 0 or -ENOMEM. */
int culled_restore(struct culled *culled, const struct culled_row *row);
/* Adds a row to the others of its key. 0; -ENOMEM; -ENOSPC: there are CULLED_SUMS_MAX. */
int culled_add(struct culled *culled, const struct culled_row *row);
