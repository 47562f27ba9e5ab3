#pragma once
/* Small arithmetic helpers. */
#include <stddef.h>
#include <stdint.h>

/*
 * Returns value - by, or 0 if `by` is larger. Sums that do not add up, because a peer lies or data
 * was lost, must not wrap around.
 */
static inline uint64_t less(uint64_t value, uint64_t by)
{
	return value > by ? value - by : 0;
}

/*
 * Returns how many elements of a sorted list are below `value`, which is also its insertion index.
 */
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
