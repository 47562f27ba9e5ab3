#pragma once
/*
 * Sampled mode: the part that the hooks use.
 *
 * Sample points lie on the bytes that a thread allocates, one every `interval` bytes on average, as
 * a Poisson process. A block that contains a point is recorded. The thread counts down to its next
 * point, so skipping a block costs a comparison and two stores, before any other work. A block of
 * `interval` bytes or more is always recorded and is not weighted; it uses up no points. (The
 * sampling law would give such a block a probability of 0.63 or more. Recording all of them costs
 * at most one record per `interval` bytes, and removes the variance of the heaviest blocks.)
 *
 * Only the frees of sampled blocks are recorded. The set of these blocks is in the ring (struct
 * ring_set_line). A block is removed from the set before it goes back to the allocator, so that the
 * next block at its address is not mistaken for it. If any block was ever recorded in full mode,
 * the set does not hold all blocks on record; thin.h deals with the others.
 *
 * A mode change takes effect at the next look. Frees see a change to full mode at once, because the
 * set's pointer is gone. Allocations see a change after at most SAMPLE_LOOK bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

#define SAMPLE_LOOK 65536

/*
 * The set is 64 KiB or more, so frees look first at shim_page.buckets, which stay in the
 * first-level cache. A bucket is SAMPLE_CLEAR minus the number of sampled blocks whose addresses
 * fall into it. A bucket is 0, and stays 0, if it had more of them than it can count, or if NULL or
 * blocks of the bootstrap arena fall into it. All buckets are 0 once any block was recorded in full
 * mode, and in a fork child, where the kernel has wiped them. SAMPLE_CLEAR thus answers all
 * questions of the short path at once.
 */
#define SAMPLE_CLEAR 255

/* Returns the bucket of a block. Neighbouring blocks share a bucket, and a cache line of buckets
 * covers 16 KiB, because a program's frees are seldom spread over its whole heap. */
static inline unsigned sample_bucket(const void *p)
{
	return (unsigned)((uintptr_t)p >> 8) % SAMPLE_BUCKETS;
}

/* The slow path of sample_skips_free and sample_skips_realloc, where a bucket is not clear.
 * Returns true if the block is not sampled. Counts nothing. */
bool sample_skips_sought(const void *p) __attribute__((cold));

/* Counts a skipped event. The addition is one instruction on processors that have it, so a signal
 * handler that counts in between loses nothing. */
static inline void sample_count(uint64_t *skipped)
{
	*skipped += 1;
}

/* Returns true if a block of this size is skipped, and counts it. In other modes no block is
 * skipped: tls.skipped is NULL, and tls.left is 0 unless a handler has obeyed an order while this
 * function was counting down. In a fork child no block is skipped, because it has no ring. */
static inline bool sample_skips(size_t size)
{
	size_t left = __atomic_load_n(&tls.left, __ATOMIC_RELAXED);
	uint64_t *skipped;

	if (likely(size - 1 >= left)) /* always true in full mode, which takes the straight path */
		return false;
	skipped = tls.skipped;
	if (!skipped || !__atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&tls.left, left - size, __ATOMIC_RELAXED);
	sample_count(skipped);
	return true;
}

static inline __attribute__((always_inline)) bool sample_is_clear(const void *p)
{
	return __atomic_load_n(&shim_page.buckets[sample_bucket(p)], __ATOMIC_RELAXED) ==
	       SAMPLE_CLEAR;
}

/* Returns true if the free of this block is skipped, and counts it. Callers ask the second function
 * if the first returns false. */
static inline __attribute__((always_inline)) bool sample_skips_free(const void *p)
{
	uint64_t *skipped = tls.skipped;

	if (!skipped || !sample_is_clear(p))
		return false;
	sample_count(skipped);
	return true;
}

static inline bool sample_skips_free_sought(const void *p)
{
	uint64_t *skipped = tls.skipped;

	if (likely(!skipped) || !sample_skips_sought(p))
		return false;
	sample_count(skipped);
	return true;
}

static inline bool sample_skips_realloc(const void *old, size_t size)
{
	return (!old || (tls.skipped && sample_is_clear(old))) && sample_skips(size);
}

static inline bool sample_skips_realloc_sought(const void *old, size_t size)
{
	return tls.skipped && old && sample_skips_sought(old) && sample_skips(size);
}

/* Removes a block that is about to be freed from the set. Returns true if it was in the set, or if
 * it is followed without being there (thin.h). */
bool sample_take(const void *p);

/* For modes other than full. Returns true if this event is recorded, and changes `event` to the one
 * that must be recorded. Otherwise counts the event if the thread is sampled. Called once per
 * event. */
bool sample_wants(struct thread *thread, struct event *event) __attribute__((cold));

/* Samples every `interval` bytes; 0: not sampled. If recording is on (`on`), a sampled thread
 * changes to another interval at its next event. All other changes take effect immediately. */
void sample_obey(struct thread *thread, uint64_t interval, bool on);
/* Returns the interval from the header and the thread's thinning; 0: full mode. */
uint64_t sample_interval(const struct thread *thread, const struct ring_header *ring);
/* Makes the thread's next event take the slow path and obey the orders. */
void sample_look(struct thread *thread);
/* Initialises a state that a new thread takes over. */
void sample_thread_init(struct thread *thread);

/* Notes that from now on the set does not hold all blocks on record, so frees must ask (thin.h). */
void sample_record_all(void);

/* Removes this entry from the set, unless its place holds another entry by now. */
void sample_drop(struct ring_set_line *line, unsigned index, uint64_t entry);

/* Initialises the set of a ring, empty, and the seed. */
void sample_init(struct ring_header *ring);
