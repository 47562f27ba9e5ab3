#pragma once
/* Sums that do not add up, because somebody lies or something was lost, must not wrap around. */
#include <stdint.h>

/* The difference; 0 where it would be below. */
static inline uint64_t less(uint64_t value, uint64_t by)
{
	return value > by ? value - by : 0;
}
