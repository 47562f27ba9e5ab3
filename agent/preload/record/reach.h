#pragma once
/*
 * Controls which part of the ring may be touched. The ring is mapped at its largest size, but is
 * made accessible only as the agent provides memory for it (ring_header.slice_count). The library
 * therefore cannot touch pages without backing by mistake, and mlockall does not make them
 * resident.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Maps the ring of this descriptor and size, and makes its present part accessible. Returns 0 or a
 * negative errno. */
int reach_map(int memory, uint64_t size, struct ring_header **ret_ring);

/* Returns the number of slices that may be touched. */
static inline uint32_t reach_slices(void)
{
	return __atomic_load_n(&shim.slices, __ATOMIC_ACQUIRE);
}

/* Returns true if the ring is only a header, in which events are counted (RING_COUNTED). */
static inline bool reach_counts_only(const struct ring_header *ring)
{
	return !ring->modules_size;
}

/* Makes new slices accessible. Returns true if there are more than before. */
bool reach_more(struct ring_header *ring);

/* Tells the agent that no slice is free, or no larger slice. */
void reach_want(struct ring_header *ring);
/* Returns true if more slices may arrive soon; false if the agent has noticed the request and had
 * no memory. */
bool reach_may_grow(const struct ring_header *ring);
