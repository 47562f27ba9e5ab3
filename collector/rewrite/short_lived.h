#pragma once
/*
 * Which events of a recording could as well be sums: births and deaths of blocks that have lived
 * shorter than some time. For strip.c, that goes through a recording twice: here all events pass
 * once, in their order, and each gets its flags.
 *
 *	malloc A      SHORT_DROP | a block of the heap at A that lived shorter: neither event is
 *		      needed
 *	free A        SHORT_DROP           |
 *	realloc A->B  SHORT_CUT | the block at A did: to be written as the birth of B alone
 *	realloc B->C  SHORT_CUT and DROP   |  both did
 *
 * At one address births and deaths alternate. A pair is dropped only where a birth is followed by
 * its death, both by known threads, in their order, with nothing in doubt at this address before:
 * what is left then pairs as it did (pairing.h). Where a birth meets another, or a death meets
 * none, the blocks there stay until the address is surely free again. So do a reallocation of a
 * block that stays and the block that it makes, whatever an exec or the end of an agent cuts off,
 * and all that goes with a batch of an exec.
 *
 * Memory: an entry for each block in use. Flags, two bits an event, lie in a file without a name.
 */
#include "base/map.h"
#include "collector/rewrite/copy.h"

#define SHORT_DROP 1u
#define SHORT_CUT  2u
/* Longer ones stay: sums must not overflow. */
#define SHORT_SIZE_MOST ((uint64_t)1 << 40)
/* Blocks whose end one batch may tell of, so that its sums find room in a message. */
#define SHORT_BATCH_MOST 40960

struct short_lived {
	uint64_t threshold_ns;
	struct map live; /* address -> index in `blocks` */
	struct short_block *blocks;
	uint32_t block_count, block_capacity, spare; /* spare: index + 1 of the first free one */
	int fd;
	uint8_t *flags; /* mapped */
	uint64_t room;	/* events */
	uint32_t incarnation, images;
	uint64_t exec_ns, tick_ns;
	uint32_t in_batch;
	uint64_t *last; /* number of the last batch with events or none, of each agent
			   (copy.batches) */
	uint32_t last_count, last_capacity;
	uint64_t blocks_dropped, last_ns;
};

int short_lived_init(struct short_lived *s, uint64_t threshold_ns);
void short_lived_done(struct short_lived *s);
/* The batch at hand. 0; -ENOMEM, or the file without a name can't be had. */
int short_lived_add(struct short_lived *s, struct copy *copy);
static inline unsigned short_lived_flags(const struct short_lived *s, uint64_t event)
{
	return s->flags[event / 4] >> event % 4 * 2 & 3u;
}
/* Is the batch of this number the last one of its agent? `at` begins with 0, and numbers come in
 * their order. */
bool short_lived_is_last(const struct short_lived *s, uint64_t batch, uint32_t *at);
