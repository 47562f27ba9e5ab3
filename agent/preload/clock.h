#pragma once
/*
 * Stamps. With several threads they come from a counter that is read in order (an allocation's
 * stamp after the allocator has returned, a free's before it is called), so that a block that
 * changes hands is never stamped backwards.
 *
 * What the program must not do: forbid itself the counter (prctl PR_SET_TSC with
 * PR_TSC_SIGSEGV; seccomp's strict mode does so too). Reading it is then a SIGSEGV, and asking
 * before each event whether that has happened would cost more than the event. It needs
 * HEAPCAST_OFF=1.
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
