/* Reads the time stamp counter, ordered after earlier loads. */
#include "agent/core/clock.h"

#include "proto/ring.h"

uint64_t clock_counter(void)
{
	unsigned cpu;

	return __builtin_ia32_rdtscp(&cpu);
}

uint32_t clock_counter_kind(void)
{
	return RING_CLOCK_TSC;
}
