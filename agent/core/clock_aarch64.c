/* Reads the virtual counter, ordered after earlier instructions. */
#include "agent/core/clock.h"

#include "proto/ring.h"

uint64_t clock_counter(void)
{
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
	return value;
}

uint32_t clock_counter_kind(void)
{
	return RING_CLOCK_CNTVCT;
}
