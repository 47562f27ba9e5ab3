#pragma once
/* Computes the weight of a sampled allocation. */
#include <math.h>
#include <stdint.h>

#include "proto/ring.h"

/*
 * Returns the number of bytes that a sampled allocation of `size` bytes stands for: size / p, with
 * p = 1 - exp(-size / interval) (Horvitz and Thompson 1952), rounded to whole bytes, which is off
 * by at most 1 / (2 interval). An empty allocation counts as one byte. Returns 0, which means the
 * allocation's own size, if sampling is off, or if the allocation is so large that it is always
 * recorded.
 */
static inline uint64_t weight_of(uint64_t size, uint64_t interval)
{
	uint64_t mean = interval < RING_INTERVAL_MAX ? interval : RING_INTERVAL_MAX;
	double s = size ? (double)size : 1, r = (double)mean;

	return size < mean && mean > 1 ? (uint64_t)llround(s / -expm1(-s / r)) : 0;
}
