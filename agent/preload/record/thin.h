#pragma once
/*
 * Which blocks are followed (whose frees are recorded) where not all are, and how that is told: the
 * program's side of proto/thinning.h. docs/sampling.md says why it leaves estimates unbiased.
 *
 * The set of sampled blocks (sample.h) is *closed* while nobody in the process is sampled that has
 * also recorded in full mode: then all frees are recorded, and nothing is taken from it. It is
 * opened, empty, when a thread is sampled, be it by an order or by policy thin. While it is open,
 * threads that are not sampled look their frees up, too, and take no short way; they record them
 * all.
 *
 * Who changes any of it puts a mark. To open the set and to follow less needs no lock: a thread
 * that has no room for frees can't wait for another one that is not at work. Who halves or closes
 * the set holds a lock that it only tries to get. A thread that was made to leave it by a jump, or
 * has ended, is known by that it can't be at work: then it is taken over. What could not be told
 * for lack of room is told later; before it is, nothing happens that the collector must know.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* A ring is there, with this set (NULL: none) of so many lines. */
void thin_init(struct ring_set_line *set, uint64_t lines, uint64_t seed);

/* Orders, or its thinning, have changed for this thread; it is at the start of a hook, and knows
 * its interval. Opens or closes the set; lowers the share of older blocks that is followed, or
 * raises it again. May put marks. */
void thin_obey(struct thread *thread);

/* The agent is another one, and may not know what the one before it was told: a mark says all of
 * it. */
void thin_tell_again(void);

/* Of a block that is not in the set, which is open: is it followed? It must not have been freed
 * yet. */
bool thin_follows(const void *p);

/* What changes when the set does: entries are put in with the parity of this number. */
uint32_t thin_generation(void);

/* The set is full, as it was in this generation: its interval doubles, and it is halved. Puts a
 * mark. false: there is no room for that now. */
bool thin_halve(struct thread *thread, uint32_t generation);

/* An event found room at the end of its slice only, or none: its thread is thinned one step more,
 * three where little is left, and all where next to nothing is. If `frees` the set is halved as
 * well. */
void thin_more(struct thread *thread, bool frees);

/* Words of its slice that a thread keeps free for such events. */
static inline uint64_t thin_spare(const struct thread *thread)
{
	return thread->interval && thread->policy == RING_THIN ? (thread->mask + 1) / 8 : 0;
}

/* Words of its slice that a thread leaves to the marks by which frees are let go of: what is to be
 * written for lack of room must have some. */
static inline uint64_t thin_marks(const struct thread *thread)
{
	return thread->policy == RING_THIN ? (thread->mask + 1) / 32 : 0;
}

/* The agent's heartbeat: a thread that is sampled says when it looked last. */
static inline uint32_t thin_beat(void)
{
	const struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED);

	return ring ? __atomic_load_n(&ring->heartbeat, __ATOMIC_RELAXED) : 0;
}

/* Intervals below this one are taken for it: what the set has room for. */
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
