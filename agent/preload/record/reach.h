#pragma once
/*
 * How far the ring may be touched. It is mapped at its largest size, and opened as the agent says
 * that more of it is there (ring_header.slice_count): what nobody has backed can't be touched by
 * mistake, nor be brought in by mlockall.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Maps the ring of this descriptor and size, and opens what there is of it. 0 or a negative
 * errno. */
int reach_map(int memory, uint64_t size, struct ring_header **ret_ring);

/* How many of the ring's slices may be looked at. */
static inline uint32_t reach_slices(void)
{
	return __atomic_load_n(&shim.slices, __ATOMIC_ACQUIRE);
}

/* Is there only a header, in which events are counted (RING_COUNTED)? */
static inline bool reach_counts_only(const struct ring_header *ring)
{
	return !ring->modules_size;
}

/* Opens what has come to the ring since. True: there are more slices than before. */
bool reach_more(struct ring_header *ring);

/* The agent is told that there is no free slice, or none that is larger. */
void reach_want(struct ring_header *ring);
/* May there be more soon? Not if the agent has heard that and had none. */
bool reach_may_grow(const struct ring_header *ring);
