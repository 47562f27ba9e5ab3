#pragma once
/*
 * Sums of the events that are not sent themselves: rows by thread, stack, lifetime class and size
 * class (proto/culled.h), so totals stay exact. cull.h and flight.h add the blocks that have ended.
 * A batch takes the rows along when they have waited long enough, or when no more rows fit.
 *
 * The memory is fixed. A row names its stack by a node index, which is valid in one generation of
 * the stack table only. So all rows are sent before the next generation begins.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/arena.h"
#include "agent/core/stacks.h"
#include "heapcast.pb-c.h"

/* How long rows wait, unless they fill up before. */
#define SUMS_NS 1000000000
/* Larger blocks are not summed, so that sums can't overflow. */
#define SUMS_SIZE_MOST	((uint64_t)1 << 48)
#define SUMS_ROWS_LEAST 64
/* Rows are sent when they reach this sum, for the same reason. */
#define SUMS_BYTES_MOST ((uint64_t)1 << 62)

struct sums_row {
	uint32_t thread; /* number */
	uint32_t node;
	uint8_t lifetime; /* class */
	uint8_t size_bits;
	uint32_t blocks, reallocated;
	uint64_t bytes, size_least, size_most, weight;
	uint64_t first_ns, last_ns;
};

struct sums {
	struct sums_row *row;
	uint32_t *index; /* hash table by key: row number + 1 */
	uint32_t count, max;
	uint32_t places;
	uint64_t blocks, bytes, frees, early; /* totals of these sums */
	uint64_t since_ns;		      /* CLOCK_MONOTONIC of the first entry */
	uint64_t wait_ns;		      /* how long the rows wait */
	uint64_t wait_row_ns;		      /* additional wait for each row */
};

/* A block that has ended. */
struct sums_block {
	uint32_t thread; /* number */
	uint32_t node;
	uint64_t time_ns; /* of its birth */
	uint64_t size;
	uint64_t weight;
	uint64_t lived_ns;
	bool freed; /* false: reallocated */
};

/* Takes at most a quarter of the arena, and no more rows than `message` bytes of a message have
 * room for. Returns 0, or -ENOMEM if that is fewer than SUMS_ROWS_LEAST rows. */
int sums_init(struct sums *sums, struct arena *arena, size_t message);
void sums_clear(struct sums *sums);
/* Returns true if `blocks` more blocks can't be added until a batch has taken these sums. */
static inline bool sums_full(const struct sums *sums, uint32_t blocks)
{
	return sums->max - sums->count < blocks || sums->bytes >= SUMS_BYTES_MOST;
}
/* Returns the number of events that the sums stand for. */
static inline uint64_t sums_events(const struct sums *sums)
{
	return sums->blocks + sums->frees;
}
/* Adds a block. The caller has checked that there is room (sums_full). */
void sums_add(struct sums *sums, const struct sums_block *block);
/* Counts the free that ended a block: the free is an event of its own. */
static inline void sums_add_free(struct sums *sums)
{
	sums->frees++;
}
/* Counts a block that was sent early, because the memory was full before its end. */
void sums_add_early(struct sums *sums);
/* Returns true if the sums have waited long enough. `now_ns`: CLOCK_MONOTONIC. */
static inline bool sums_due(const struct sums *sums, uint64_t now_ns)
{
	return (sums->blocks || sums->early) &&
	       now_ns - sums->since_ns >= sums->wait_ns + sums->count * sums->wait_row_ns;
}
/* Adds the sums to a batch and empties them, if they are due or `must`. The message takes its
 * memory from `scratch`. Returns the number of events that the batch's sums stand for. */
uint64_t sums_put(struct sums *sums, const struct stacks *stacks, struct arena *scratch, bool must,
		  Heapcast__Batch *batch);
