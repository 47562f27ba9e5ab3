#pragma once
/*
 * Determines which events of a recording can be replaced by sums: births and deaths of blocks that
 * lived for less than a threshold. strip.c reads a recording twice. In the first pass all events go
 * through here in order, and each gets its flags.
 *
 *        malloc A      SHORT_DROP           | a block of the heap at A was short-lived: neither
 *        free A        SHORT_DROP           | event is needed
 *        realloc A->B  SHORT_CUT            | the block at A was: write only the birth of B
 *        realloc B->C  SHORT_CUT and DROP   | both blocks were
 *
 * At one address, births and deaths alternate. A pair is dropped only if a birth is followed by its
 * death, both are by known threads and in order, and nothing at this address was doubtful before.
 * The remaining events then pair as before (pairing.h). If a birth meets another birth, or a death
 * has no birth, blocks at the address stay until it is certainly free. These stay, too: a
 * reallocation of a block that stays, and its new block; blocks that an exec or the end of an agent
 * cuts off; and everything in a batch with an exec.
 *
 * Events come in the order in which they ended. A reallocation takes its block at the time of its
 * call. If the end of the new block, a free or a reallocation, has a time that is too early, it is
 * seen first and taken for the end of the old block. The pairs that were dropped last can therefore
 * be taken back.
 *
 * Memory holds an entry per block in use. The flags, two bits per event, are in an unnamed file.
 */
#include "base/map.h"
#include "collector/rewrite/copy.h"

#define SHORT_DROP 1u
#define SHORT_CUT  2u
/* Larger blocks stay, so that sums cannot overflow. */
#define SHORT_SIZE_MOST ((uint64_t)1 << 40)
/* Most blocks that may end in one batch, so that their sums fit into a message. */
#define SHORT_BATCH_MOST 40960

/* How many dropped pairs can be taken back. Times are wrong by microseconds. */
#define SHORT_RECENT 64

struct short_pair {
	uint64_t address, time_ns; /* address and time of the end */
	uint64_t birth, death;	   /* numbers of the events */
	uint64_t became;	   /* the address that a reallocation returned; 0: it was freed */
};

struct short_lived {
	uint64_t threshold_ns;
	struct map live; /* address -> index in `blocks` */
	struct short_block *blocks;
	uint32_t block_count, block_capacity, spare; /* spare: index + 1 of the first free entry */
	int fd;
	uint8_t *flags; /* mapped */
	uint64_t room;	/* capacity of `flags`, in events */
	uint32_t incarnation, images;
	uint64_t exec_ns, tick_ns;
	uint32_t in_batch;
	uint64_t *last; /* number of the last batch, with or without events, of each agent
			 * (copy.batches) */
	uint32_t last_count, last_capacity;
	uint64_t last_ns;
	struct short_pair recent[SHORT_RECENT]; /* a ring */
	uint32_t next;
};

int short_lived_init(struct short_lived *s, uint64_t threshold_ns);
void short_lived_done(struct short_lived *s);
/*
 * Takes the current batch. Returns 0, -ENOMEM, or another negative errno if the unnamed file cannot
 * be created.
 */
int short_lived_add(struct short_lived *s, struct copy *copy);
static inline unsigned short_lived_flags(const struct short_lived *s, uint64_t event)
{
	return s->flags[event / 4] >> event % 4 * 2 & 3u;
}
/*
 * Tells whether the batch with this number is the last of its agent. `at` begins at 0, and numbers
 * ascend from call to call.
 */
bool short_lived_is_last(const struct short_lived *s, uint64_t batch, uint32_t *at);
