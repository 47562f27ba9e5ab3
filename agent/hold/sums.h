#pragma once
/*
 * What is not sent as events is sent as sums: rows by thread, stack, class of lifetime and class of
 * size (proto/culled.h), so that totals stay exact. Those who hold events back (cull.h, flight.h)
 * add the blocks that have ended; a batch takes the rows along when they have waited long enough,
 * or when there is no room for more.
 *
 * The memory is fixed. A row names its stack by the node's index, which is of one generation of the
 * stack table: they are sent before the next one begins.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/budget.h"
#include "heapcast.pb-c.h"

/* they wait so long, if nothing else makes them go */
#define SUMS_NS 1000000000
/* sums must not overflow: no longer block is for them, */
#define SUMS_SIZE_MOST	((uint64_t)1 << 48)
#define SUMS_ROWS_LEAST 64
#define SUMS_BYTES_MOST ((uint64_t)1 << 62) /* and no more bytes wait */

struct stream;
struct packer;

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
	uint32_t *index; /* by key: number + 1 */
	uint32_t count, max;
	unsigned shift;
	uint64_t blocks, bytes, frees, early; /* in these sums, or along with them */
	uint64_t since_ns;		      /* CLOCK_MONOTONIC of the first of them */
	uint64_t wait_ns;		      /* how long they wait, */
	uint64_t wait_row_ns;		      /* and how much longer for each row */
};

/* A block that has ended. */
struct sums_block {
	uint32_t thread; /* number */
	uint32_t node;
	uint64_t time_ns; /* of its birth */
	uint64_t size;
	uint64_t weight;
	uint64_t lived_ns;
	bool freed; /* else reallocated */
};

/* Takes a quarter of the memory at most, and no more than a message has room for. 0; -ENOMEM: fewer
 * than SUMS_ROWS_LEAST rows. */
int sums_init(struct sums *sums, struct arena *arena, size_t message);
void sums_clear(struct sums *sums);
/* So many blocks can't be added until a batch has taken these along. */
static inline bool sums_full(const struct sums *sums, uint32_t blocks)
{
	return sums->max - sums->count < blocks || sums->bytes >= SUMS_BYTES_MOST;
}
/* How many events they stand for. */
static inline uint64_t sums_events(const struct sums *sums)
{
	return sums->blocks + sums->frees;
}
/* There is room. */
void sums_add(struct sums *sums, const struct sums_block *block);
/* The block's end was an event of its own, a free. */
static inline void sums_add_free(struct sums *sums)
{
	sums->frees++;
}
/* A block was sent for lack of room to wait for its end. */
void sums_add_early(struct sums *sums);
/* There are some that have waited long enough. `now_ns`: CLOCK_MONOTONIC. */
static inline bool sums_due(const struct sums *sums, uint64_t now_ns)
{
	return (sums->blocks || sums->early) &&
	       now_ns - sums->since_ns >= sums->wait_ns + sums->count * sums->wait_row_ns;
}
/* Adds them to a batch, if they should go with it (`must`: in any case), and empties them. */
void sums_put(struct stream *stream, struct packer *packer, bool must, Heapcast__Batch *batch);
