#pragma once
/*
 * Saturating arithmetic, for sums that may exceed 64 bits: everything that a program allocates in
 * its life, or the figures of an untrusted recording. A result stays at the end of its range, where
 * "at least so much" is true, instead of wrapping to 0. Amounts that are added and subtracted in
 * turn (in use over time) use wrapping arithmetic instead, because the difference is correct again
 * once it fits.
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

/* Returns a - b. The result is never INT64_MIN, so it can be negated. */
static inline int64_t difference_most(uint64_t a, uint64_t b)
{
	uint64_t by = a > b ? a - b : b - a;
	int64_t difference = by > INT64_MAX ? INT64_MAX : (int64_t)by;

	return a > b ? difference : -difference;
}

/* Rounds to the nearest integer. Negative values give 0. */
static inline uint64_t whole_most(double value)
{
	return value >= 18446744073709549568.0 ? UINT64_MAX
	       : value > 0		       ? (uint64_t)(value + 0.5)
					       : 0;
}
