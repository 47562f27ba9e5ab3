#pragma once
/*
 * Distances to the next point of a Poisson process, in integer arithmetic. The preload library uses
 * only general-purpose registers, and BPF programs have no others.
 */
#include <stdint.h>

#define EXPONENTIAL_BITS 24

/*
 * SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* x must not be 0. clang 14 for BPF exhausts memory when it compiles __builtin_clzll. */
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

/*
 * log2(x) in units of 2^-24; x must not be 0. Each squaring of the mantissa moves the next bit of
 * the logarithm in front of the binary point. The result is too low by less than 2^-24 for the bits
 * left out, plus 2^-26 because the mantissa has only 32 bits and each step truncates.
 */
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
 * Returns the number of bytes before the next point, where points have the mean distance `mean` (at
 * most 2^32). The result is the integer part of -mean ln(u), with u uniform in (0, 1). A block of S
 * bytes (an integer) thus contains a point with probability 1 - exp(-S / mean). The error is at
 * most 2^-22 mean. A call takes about 30 ns, once per sample.
 */
static inline uint64_t exponential(uint64_t *random, uint64_t mean)
{
	uint64_t u = random_next(random), log;

	u += !u;
	log = ((uint64_t)64 << EXPONENTIAL_BITS) - log2_fixed(u);
	log = log * 0xb17217f8u >> 32; /* ln 2 */
	return mean * log >> EXPONENTIAL_BITS;
}
