#pragma once
/*
 * Sums of blocks with the error due to sampling.
 *
 * A block of size s is recorded with the probability p = 1 - exp(-s / interval), independently of
 * others, and carries the weight w = s / p: the bytes that it stands for. The sum of a quantity y
 * over all blocks is estimated without bias by the sum of y / p over the recorded ones (Horvitz and
 * Thompson 1952), and the variance of that estimate by the sum of (1 - p) y^2 / p^2:
 *
 *	bytes   y = s   estimate w       variance w (w - s)
 *	blocks  y = 1   estimate w / s   variance w (w - s) / s^2
 *
 * For a Poisson number n the 95 % interval (score test, z = 1.96) is n + z^2/2 +- z sqrt(n +
 * z^2/4). For few samples it is wider than 2 z sqrt(n), because few samples also mean that the
 * variance is poorly known. A weighted sum with the estimate T and the variance V behaves like
 * T^2/V samples of V/T each. The error given is half the width of its interval,
 *
 *	z sqrt(V + (V/T)^2 z^2/4)
 *
 * which is 1.96 standard deviations if there are many samples. A result without any sample has no
 * error either: the true value may be as high as 3 intervals (e^-3 = 0.05), and a renderer says so
 * if the whole recording has none. If a program was thinned for a moment, few samples or none
 * describe that moment, and the other samples do not cover it. The error of a total includes what
 * may be there unseen (tally_total).
 *
 * Blocks with w = s (mode full, and at and above the cut) add nothing to the error and are summed
 * as integers. An empty block counts as one byte for p, and adds no bytes.
 *
 * The peak is the largest of many estimates: if its error is large, it tends to be too high.
 */
#include <stdint.h>

#include "base/saturated.h"
#include "collector/columns/row_block.h"
#include "collector/query/query.h"

struct tally {
	uint64_t blocks, bytes; /* exact */
	uint64_t samples;
	double sampled_blocks, sampled_bytes, blocks_variance, bytes_variance;
};

/* Returns the variance that a sampled block adds to a sum of bytes. */
static inline double tally_bytes_variance(uint64_t size, uint64_t weight)
{
	return (double)weight * ((double)weight - (double)size);
}

static inline void tally_add_sampled(struct tally *tally, uint64_t size, uint64_t weight)
{
	double s = size ? (double)size : 1, w = (double)weight, variance = w * (w - s);

	tally->samples++;
	tally->sampled_blocks += w / s;
	tally->blocks_variance += variance / (s * s);
	if (size) {
		tally->sampled_bytes += w;
		tally->bytes_variance += variance;
	}
}

/* Returns true if a block of this size and weight also represents others. `weight` 0: not
 * sampled. */
static inline bool tally_is_sampled(uint64_t size, uint64_t weight)
{
	return weight > size && weight > 1;
}

static inline void tally_add(struct tally *tally, uint64_t size, uint64_t weight)
{
	if (tally_is_sampled(size, weight)) {
		tally_add_sampled(tally, size, weight);
		return;
	}
	tally->blocks++;
	add_most(&tally->bytes, size);
}

/* Returns the number of blocks of its size that a row counts, if weights are no estimates. */
static inline uint64_t row_counts(const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i] ? block->size[i] : 1;

	return block->weight && block->weight[i] > size ? block->weight[i] / size : 1;
}

/* Adds a row according to the meaning of weights in its recording. */
static inline void tally_add_row(struct tally *tally, const struct row_block *block, uint32_t i)
{
	uint64_t counted;

	if (__builtin_expect(!block->exact, 1)) {
		tally_add(tally, block->size[i], block->weight ? block->weight[i] : 0);
		return;
	}
	counted = row_counts(block, i);
	add_most(&tally->blocks, counted);
	add_most(&tally->bytes, product_most(counted, block->size[i]));
}

/* Returns the error of an estimate with this variance. */
double tally_error(double estimate, double variance);
struct usage tally_usage(const struct tally *tally);
/* Returns the usage of a total over the recording, of what `value` counts; `at_ns` is the moment
 * for in use and peak. The error includes blocks unseen while the program was thinned. */
struct usage tally_total(const struct tally *tally, const struct recording *recording,
			 enum value value, uint64_t at_ns);
void tally_merge(struct tally *into, const struct tally *from);
/* Returns true if any block in the sum was sampled. */
static inline bool tally_sampled(const struct tally *tally)
{
	return tally->sampled_blocks > 0;
}
