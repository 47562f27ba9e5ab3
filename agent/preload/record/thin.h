#pragma once
/*
 * Decides which blocks are followed when not all are, and records that decision. (A block is
 * followed if its free is recorded.) This is the program's side of proto/thinning.h.
 * docs/sampling.md explains why estimates stay unbiased.
 *
 * The set of sampled blocks (sample.h) is *closed* while no thread of a process that has also
 * recorded in full mode is sampled. All frees are then recorded, and nothing is removed from the
 * set. The set is opened, empty, when a thread is sampled, by an order or by policy thin. While it
 * is open, threads that are not sampled look up their frees, too, and take no short path; they
 * record them all.
 *
 * A thread that changes any of this puts a mark. Opening the set and following fewer blocks need no
 * lock, because a thread that has no room for frees cannot wait for another thread that is not
 * running. A thread that halves or closes the set holds a lock that it only tries to take. If the
 * holder has left by a jump or has ended, it cannot be working on the set; others detect this and
 * take the lock over. Marks that find no room are put later; until then, nothing happens that the
 * collector must know.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Called when the process has a ring, with this set (NULL: none) of `lines` lines. */
void thin_init(struct ring_set_line *set, uint64_t lines, uint64_t seed);

/* Called at the start of a hook when the orders or the thread's thinning have changed; the thread's
 * interval is already set. Opens or closes the set; lowers the share of older blocks that is
 * followed, or raises it again. May put marks. */
void thin_obey(struct thread *thread);

/* Called when another agent has taken over. It may not know what its predecessor was told, so a
 * mark repeats all of it. */
void thin_tell_again(void);

/* Returns true if this block is followed. The set is open and does not hold the block, which must
 * not have been freed yet. */
bool thin_follows(const void *p);

/* Returns a number that changes with the set. Entries are stored with its parity. */
uint32_t thin_generation(void);

/* Doubles the interval of the set and halves the set, which was full in this generation. Puts a
 * mark. Returns false if there is no room for the mark now. */
bool thin_halve(struct thread *thread, uint32_t generation);

/* Called when an event found room only at the end of its slice, or none. Thins the thread one more
 * step, three steps if little is left, and fully if next to nothing is left. If `frees` is set,
 * halves the set as well. */
void thin_more(struct thread *thread, bool frees);

/* Returns the words of its slice that a thread keeps free for such events. */
static inline uint64_t thin_spare(const struct thread *thread)
{
	return thread->interval && thread->policy == RING_THIN ? (thread->mask + 1) / 8 : 0;
}

/* Returns the words of its slice that a thread reserves for the marks that give up frees. These
 * marks are written for lack of room, so they need reserved room. */
static inline uint64_t thin_marks(const struct thread *thread)
{
	return thread->policy == RING_THIN ? (thread->mask + 1) / 32 : 0;
}

/* Returns the agent's heartbeat. A sampled thread keeps its value at its last look. */
static inline uint32_t thin_beat(void)
{
	const struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED);

	return ring ? __atomic_load_n(&ring->heartbeat, __ATOMIC_RELAXED) : 0;
}

/* Returns the lower limit of the interval, given by the room in the set. Shorter intervals are
 * raised to it. */
uint64_t thin_interval_least(void);

/*
 * An entry of the set: the address, whose lowest bits are 0, the class of its size, and the parity
 * of its generation.
 */
#define THIN_ENTRY_BITS 7u

static inline unsigned thin_class(uint64_t size)
{
	return size >> 24 ? 3 : size >> 20 ? 2 : size >> 16 ? 1 : 0;
}

static inline uint64_t thin_entry(const void *p, unsigned class, uint32_t generation)
{
	return ((uint64_t)(uintptr_t)p & ~(uint64_t)THIN_ENTRY_BITS) | class << 1 |
	       (generation & 1);
}

static inline bool thin_is_entry(uint64_t entry, const void *p)
{
	return entry && ((entry ^ (uintptr_t)p) | THIN_ENTRY_BITS) == THIN_ENTRY_BITS;
}
