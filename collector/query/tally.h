#pragma once
/*
 * Sums of blocks, with the error that sampling brings.
 *
 * A block of size s is recorded with the probability p = 1 - exp(-s / interval), independently of others, and carries the weight
 * w = s / p: the bytes that it stands for. Each sum over all blocks of a quantity y is then estimated without bias by the sum of
 * y / p over the recorded ones (Horvitz and Thompson 1952), and the variance of that estimate by the sum of (1 - p) y^2 / p^2:
 *
 *	bytes   y = s   estimate w       variance w (w - s)
 *	blocks  y = 1   estimate w / s   variance w (w - s) / s^2
 *
 * The error given is 1.96 standard deviations: half of the 95 % interval, if more than a few blocks were sampled. Blocks
 * with w = s (mode full, and at and above the cut) add nothing to it and are summed as whole numbers.
 * An empty block counts as one byte for p, and adds no bytes.
 */
#include <stdint.h>

#include "collector/query/query.h"

struct tally {
	uint64_t blocks, bytes; /* exact */
	double sampled_blocks, sampled_bytes, blocks_variance, bytes_variance;
};

static inline void tally_add_sampled(struct tally *tally, uint64_t size, uint64_t weight)
{
	double s = size ? (double)size : 1, w = (double)weight, variance = w * (w - s);

	tally->sampled_blocks += w / s;
	tally->blocks_variance += variance / (s * s);
	if (size) {
		tally->sampled_bytes += w;
		tally->bytes_variance += variance;
	}
}

/* `weight` 0: not sampled. */
static inline void tally_add(struct tally *tally, uint64_t size, uint64_t weight)
{
	if (weight > size && weight > 1) {
		tally_add_sampled(tally, size, weight);
		return;
	}
	tally->blocks++;
	tally->bytes += size;
}

struct usage tally_usage(const struct tally *tally);
/* Whether anything in it was sampled. */
static inline bool tally_sampled(const struct tally *tally)
{
	return tally->sampled_blocks > 0;
}
