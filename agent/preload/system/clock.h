#pragma once
/*
 * Stamps. Once a second thread is recorded they come from a counter that is read in order (an
 * allocation's stamp after the allocator has returned, a free's before it is called), so that a
 * block that changes hands is never stamped backwards. Before that the order does not matter, and
 * reading it as it comes costs half: the second thread orders it (thread.c) before its first event,
 * so who has got anything from that thread sees the order, too.
 *
 * A program may forbid itself the counter (prctl PR_SET_TSC with PR_TSC_SIGSEGV; seccomp's strict
 * mode does so, too), so that reading it is a SIGSEGV, and on most processors libc's clocks with
 * it. strict.c sees that coming; from then on stamps are ticks of the ring.
 */
#include "agent/preload/system/state.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

/* By the system's clock, or ticks. */
uint64_t stamp_otherwise(enum stamps stamps) __attribute__((cold));

static inline uint64_t stamp_now(void)
{
	enum stamps stamps = __atomic_load_n(&shim.stamps, __ATOMIC_RELAXED);

	if (likely(stamps == STAMPS_SINGLE))
		return arch_clock_single();
	if (likely(stamps == STAMPS_ORDERED))
		return arch_clock_ordered();
	return stamp_otherwise(stamps);
}
