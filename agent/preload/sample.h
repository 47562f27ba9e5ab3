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
 * has not all that is on record: then it is closed for good, and frees of all blocks are
 * recorded, those of unrecorded ones too, which the collector counts and passes over. They cost what
 * they do in full mode, less their stacks.
 *
 * A mode change is seen at the next slow look: by frees, if it is to full mode, at once (the set's
 * pointer is gone), by allocations after at most SAMPLE_LOOK bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/state.h"

#define SAMPLE_LOOK 65536

/* How many sampled blocks have their home in a line, by the lower bits of its number. Frees look here
 * first: it stays in the first-level cache, which the set (64 KiB) would not. */
#define SAMPLE_HOMES 1024
extern uint32_t sample_homes[SAMPLE_HOMES];

/* The number of a block's home line. */
static inline uint64_t sample_home(const void *p)
{
	uint64_t hash = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u;

	return hash >> 32 & shim.page->set_mask;
}

static inline uint32_t *sample_homed(const void *p)
{
	return &sample_homes[sample_home(p) % SAMPLE_HOMES];
}

/* The slow end of sample_passes_free, for a line that is some sampled block's home. */
bool sample_holds(const void *p) __attribute__((cold));

/* Is a block of this size passed over? It is counted then. In other modes nothing is (tls.left is
 * 0). */
static inline bool sample_passes(size_t size)
{
	if (size - 1 >= tls.left)
		return false;
	tls.left -= size;
	__atomic_store_n(tls.passed, *tls.passed + 1, __ATOMIC_RELAXED);
	return true;
}

static inline bool sample_passes_unseen(const void *p)
{
	const struct ring_set_line *set = __atomic_load_n(&shim.page->set, __ATOMIC_RELAXED);

	if (!tls.passed || !set)
		return false;
	return likely(!__atomic_load_n(sample_homed(p), __ATOMIC_RELAXED)) || !sample_holds(p);
}

static inline bool sample_passes_free(const void *p)
{
	if (!sample_passes_unseen(p))
		return false;
	__atomic_store_n(tls.passed, *tls.passed + 1, __ATOMIC_RELAXED);
	return true;
}

static inline bool sample_passes_realloc(const void *old, size_t size)
{
	return (!old || sample_passes_unseen(old)) && sample_passes(size);
}

/* Takes a block out of the set: whether it was in. */
bool sample_take(const void *p);

/* In a mode other than full: whether this event is recorded; it becomes what is to be recorded. Else
 * it is counted, if sampled. Called once an event. */
bool sample_wants(struct thread *thread, struct event *event) __attribute__((cold));

/* Sampled every `interval` bytes from now on; 0: not sampled. */
void sample_obey(struct thread *thread, uint64_t interval);
/* What the header's interval and the thread's thinning come to; 0: full mode. */
uint64_t sample_interval(const struct thread *thread, const struct ring_header *ring);
/* The thread's next event takes the slow way and obeys. */
void sample_look(struct thread *thread);
/* A state that a new thread takes over. */
void sample_thread_init(struct thread *thread);

/* The set of a ring, empty, and the seed. */
void sample_init(struct shim_page *page, struct ring_header *ring);
