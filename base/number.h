#pragma once
/* Small things to do with numbers. */
#include <stddef.h>
#include <stdint.h>

/* The difference; 0 where it would be below: sums that do not add up, because somebody lies or
 * something was lost, must not wrap around. */
static inline uint64_t less(uint64_t value, uint64_t by)
{
	return value > by ? value - by : 0;
}

/* How many of a sorted list lie below the value: where it stands, or would. */
static inline size_t numbers_below(const uint64_t *list, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
