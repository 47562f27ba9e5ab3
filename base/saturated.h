#pragma once
/*
 * Sums of amounts that may not fit 64 bits: of all that a program allocates in its life, or of what
 * a stranger's recording says. They stay at the end of their range, where "at least so much" is
 * true, and do not begin again at 0. What is added and taken away in turn (in use over time) wraps
 * around instead: what is left is right again when it fits.
 */
#include <stdint.h>

static inline uint64_t sum_most(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline void add_most(uint64_t *to, uint64_t value)
{
	*to = sum_most(*to, value);
}

static inline uint64_t product_most(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* a - b; never INT64_MIN, so that it can be turned round. */
static inline int64_t difference_most(uint64_t a, uint64_t b)
{
	uint64_t by = a > b ? a - b : b - a;
	int64_t difference = by > INT64_MAX ? INT64_MAX : (int64_t)by;

	return a > b ? difference : -difference;
}

/* The whole number next to it; of what is below 0, 0. */
static inline uint64_t whole_most(double value)
{
	return value >= 18446744073709549568.0 ? UINT64_MAX
	       : value > 0		       ? (uint64_t)(value + 0.5)
					       : 0;
}
