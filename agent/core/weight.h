#pragma once
/* What a sampled allocation stands for. */
#include <math.h>
#include <stdint.h>

#include "proto/ring.h"

/*
 * The bytes that a sampled allocation of `size` stands for: size / p, p = 1 - exp(-size / interval)
 * (Horvitz and Thompson 1952), as whole bytes, which is wrong by at most 1 / (2 interval). An empty
 * one counts as one byte. 0: its own size: it was not sampled, or so large that it always is
 * recorded.
 */
static inline uint64_t weight_of(uint64_t size, uint64_t interval)
{
	uint64_t mean = interval < RING_INTERVAL_MAX ? interval : RING_INTERVAL_MAX;
	double s = size ? (double)size : 1, r = (double)mean;

	return size < mean && mean > 1 ? (uint64_t)llround(s / -expm1(-s / r)) : 0;
}
