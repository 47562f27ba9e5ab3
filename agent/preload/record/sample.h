#pragma once
/*
 * Sampled mode, from the hooks' side.
 *
 * Points lie on the bytes that a thread allocates, one every `interval` bytes on average, as a
 * Poisson process; a block with a point in it is recorded. The thread counts down to its next
 * point, so that passing a block over costs a comparison and two stores, before any other work. A
 * block of `interval` bytes or more is always recorded and stands for itself; it uses no points up.
 * (There the law would give 0.63 or more: the rest costs no more than one record for `interval`
 * bytes still, and takes away the variance of what weighs most.)
 *
 * Frees are recorded of sampled blocks only. Which these are says a set in the ring (struct
 * ring_set_line), from which a block is taken before it goes back to the allocator, so that whoever
 * gets its address next is not taken for it. If anything was ever recorded in full mode, the set
 * has not all that is on record: what is done about the others is in thin.h.
 *
 * A mode change is seen at the next slow look: by frees, if it is to full mode, at once (the set's
 * pointer is gone), by allocations after at most SAMPLE_LOOK bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

#define SAMPLE_LOOK 65536

/*
 * The set is 64 KiB and more: frees look at shim_page.buckets first, which stay in the first-level
 * cache. A bucket is SAMPLE_CLEAR less the sampled blocks whose addresses fall into it. It is 0,
 * and stays so, where there were more of them than it can count, where NULL and blocks of the
 * bootstrap arena fall, in all buckets once anything was recorded in full mode, and in a forked
 * child, where the kernel has wiped it. So SAMPLE_CLEAR answers all questions of the short way at
 * once.
 */
#define SAMPLE_CLEAR 255

/* Blocks that lie together share a bucket, and a line of these serves 16 KiB: a program's frees
 * seldom go all over its heap. */
static inline unsigned sample_bucket(const void *p)
{
	return (unsigned)((uintptr_t)p >> 8) % SAMPLE_BUCKETS;
}

/* The slow end of sample_passes_free and sample_passes_realloc, where a bucket is not clear: is the
 * block none of the sampled ones? Nothing is counted. */
bool sample_passes_sought(const void *p) __attribute__((cold));

/* No atomic store of a sum: this is one instruction where the processor has it, and then the count
 * of a signal's handler that comes in between is not lost. */
static inline void sample_count(uint64_t *passed)
{
	*passed += 1;
}

/* Is a block of this size passed over? It is counted then. In other modes nothing is (tls.passed is
 * NULL; tls.left is 0, unless a handler has obeyed while it was counted down here), nor in a forked
 * child (there is no ring). */
static inline bool sample_passes(size_t size)
{
	size_t left = __atomic_load_n(&tls.left, __ATOMIC_RELAXED);
	uint64_t *passed;

	if (likely(size - 1 >= left)) /* so in full mode, which has the straight way */
		return false;
	passed = tls.passed;
	if (!passed || !__atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&tls.left, left - size, __ATOMIC_RELAXED);
	sample_count(passed);
	return true;
}

static inline __attribute__((always_inline)) bool sample_is_clear(const void *p)
{
	return __atomic_load_n(&shim_page.buckets[sample_bucket(p)], __ATOMIC_RELAXED) ==
	       SAMPLE_CLEAR;
}

/* Is the free of this block passed over? It is counted then. The second is asked where the first
 * says no. */
static inline __attribute__((always_inline)) bool sample_passes_free(const void *p)
{
	uint64_t *passed = tls.passed;

	if (!passed || !sample_is_clear(p))
		return false;
	sample_count(passed);
	return true;
}

static inline bool sample_passes_free_sought(const void *p)
{
	uint64_t *passed = tls.passed;

	if (likely(!passed) || !sample_passes_sought(p))
		return false;
	sample_count(passed);
	return true;
}

static inline bool sample_passes_realloc(const void *old, size_t size)
{
	return (!old || (tls.passed && sample_is_clear(old))) && sample_passes(size);
}

static inline bool sample_passes_realloc_sought(const void *old, size_t size)
{
	return tls.passed && old && sample_passes_sought(old) && sample_passes(size);
}

/* Takes a block that is about to end out of the set: whether it was in, or is followed without
 * (thin.h). */
bool sample_take(const void *p);

/* In a mode other than full: whether this event is recorded; it becomes what is to be recorded.
 * Else it is counted, if sampled. Called once an event. */
bool sample_wants(struct thread *thread, struct event *event) __attribute__((cold));

/* Sampled every `interval` bytes from now on, or from the next event on; 0: not sampled. Not `on`:
 * what is said holds from now on. */
void sample_obey(struct thread *thread, uint64_t interval, bool on);
/* What the header's interval and the thread's thinning come to; 0: full mode. */
uint64_t sample_interval(const struct thread *thread, const struct ring_header *ring);
/* The thread's next event takes the slow way and obeys. */
void sample_look(struct thread *thread);
/* A state that a new thread takes over. */
void sample_thread_init(struct thread *thread);

/* From now on there are blocks on record that the set does not know: who frees has to ask
 * (thin.h). */
void sample_record_all(void);

/* Takes this entry out of the set, unless it is another one by now. */
void sample_drop(struct ring_set_line *line, unsigned index, uint64_t entry);

/* The set of a ring, empty, and the seed. */
void sample_init(struct ring_header *ring);
