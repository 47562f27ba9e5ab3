/* Stands in for the counter on processors whose counter a program may not read, or whose counter
 * differs from core to core. */
#include "agent/core/clock.h"

#include "proto/ring.h"

uint64_t clock_counter(void)
{
	return clock_monotonic_ns();
}

uint32_t clock_counter_kind(void)
{
	return RING_CLOCK_NONE;
}
