#pragma once
/*
 * Distances to the next point of a Poisson process, in integers: the shim uses no register but the
 * general ones, and programs in the kernel have no others.
 */
#include <stdint.h>

#define EXPONENTIAL_BITS 24

/* SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Of x, which is not 0. (On __builtin_clzll clang 14 for BPF takes all memory there is.) */
static inline unsigned leading_zeros(uint64_t x)
{
	unsigned zeros = 0;

	for (unsigned step = 32; step; step /= 2) {
		if (x >> (64 - step))
			continue;
		x <<= step;
		zeros += step;
	}
	return zeros;
}

/* log2(x), x not 0, in units of 2^-24. Squaring the mantissa moves the next bit of the logarithm in
 * front of the point; it has 32 bits, so the result is too low by less than 2^-24 for the bits that
 * are left out, and 2^-26 for what is cut off on the way. */
static inline uint64_t log2_fixed(uint64_t x)
{
	unsigned zeros = leading_zeros(x);
	uint64_t mantissa = x << zeros >> 32, log = 63 - zeros;

	for (unsigned i = 0; i < EXPONENTIAL_BITS; i++) {
		uint64_t square = mantissa * mantissa, bit = square >> 63;

		log = log << 1 | bit;
		mantissa = square >> (31 + bit);
	}
	return log;
}

/*
 * Bytes that lie before the next point, where points have the mean distance `mean` (at most 2^32):
 * the whole part of -mean ln(u), u uniform in (0, 1). A block of S bytes then has a point in it
 * with the probability 1 - exp(-S / mean), S whole. The distance is never wrong by more than 2^-22
 * mean. About 30 ns, once a sample.
 */
static inline uint64_t exponential(uint64_t *random, uint64_t mean)
{
	uint64_t u = random_next(random), log;

	u += !u;
	log = ((uint64_t)64 << EXPONENTIAL_BITS) - log2_fixed(u);
	log = log * 0xb17217f8u >> 32; /* ln 2 */
	return mean * log >> EXPONENTIAL_BITS;
}
