#pragma once
/*
 * Stamps. With several threads they come from a counter that is read in order (an allocation's
 * stamp after the allocator has returned, a free's before it is called), so that a block that
 * changes hands is never stamped backwards.
 */
#include "agent/preload/state.h"
#include "agent/preload/sys.h"
#include "arch.h"

static inline uint64_t stamp_now(void)
{
	if (unlikely(shim.clock != ARCH_CLOCK || ARCH_CLOCK == RING_CLOCK_MONOTONIC))
		return sys_monotonic_ns();
	if (shim.single_threaded && __atomic_load_n(shim.single_threaded, __ATOMIC_RELAXED))
		return arch_clock_single();
	return arch_clock_ordered();
}
