#pragma once
/*
 * Stamps. Once a second thread is recorded, stamps come from an ordered read of the counter: for an
 * allocation after the allocator has returned, for a free before the allocator is called. A block
 * that passes from one thread to another is therefore never stamped backwards. Before that the
 * order does not matter, and an unordered read costs half as much. The second thread switches to
 * ordered reads (thread.c) before its first event, so any thread that has received a block from it
 * also sees the switch.
 *
 * A program may forbid itself the counter (prctl PR_SET_TSC with PR_TSC_SIGSEGV; seccomp's strict
 * mode does so, too). Reading the counter then raises SIGSEGV, and so do libc's clocks on most
 * processors. strict.c notices this in advance; from then on stamps are ticks of the ring.
 */
#include "agent/preload/system/state.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

/* Returns a stamp from the system's clock or from the ticks. */
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
