#pragma once
/*
 * Sums of blocks, with the error that sampling brings.
 *
 * A block of size s is recorded with the probability p = 1 - exp(-s / interval), independently of
 * others, and carries the weight w = s / p: the bytes that it stands for. Each sum over all blocks
 * of a quantity y is then estimated without bias by the sum of y / p over the recorded ones
 * (Horvitz and Thompson 1952), and the variance of that estimate by the sum of (1 - p) y^2 / p^2:
 *
 *	bytes   y = s   estimate w       variance w (w - s)
 *	blocks  y = 1   estimate w / s   variance w (w - s) / s^2
 *
 * Of a Poisson number n the 95 % interval (score test, z = 1.96) is n + z^2/2 +- z sqrt(n + z^2/4):
 * for few samples wider than 2 z sqrt(n), because few samples also mean that the variance is known
 * badly. A weighted sum with the estimate T and the variance V behaves as T^2/V samples of V/T
 * each; the error given is half the width of its interval,
 *
 *	z sqrt(V + (V/T)^2 z^2/4)
 *
 * which is 1.96 standard deviations when there are many. What a question has no sample of has no
 * error either: it may be as much as 3 intervals (e^-3 = 0.05), and a renderer says so where the
 * whole recording has none. Where a program was thinned for a moment, few samples or none tell of
 * that moment, and the others know nothing of it: what may be there unseen is in the error of a
 * total (tally_total).
 *
 * Blocks with w = s (mode full, and at and above the cut) add nothing to the error and are summed
 * as whole numbers. An empty block counts as one byte for p, and adds no bytes.
 *
 * The peak is the largest of many estimates: where its error is large it tends to be too high.
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

/* Whether a block of this size and weight stands for others, too. `weight` 0: not sampled. */
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

/* How many blocks of its size a row counts, where weights are no estimates. */
static inline uint64_t row_counts(const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i] ? block->size[i] : 1;

	return block->weight && block->weight[i] > size ? block->weight[i] / size : 1;
}

/* A row, by what its weight means in its recording. */
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

struct usage tally_usage(const struct tally *tally);
/* Of a total over the recording, of what `value` counts: at `at_ns`, if that is in use or the
 * peak. */
struct usage tally_total(const struct tally *tally, const struct recording *recording,
			 enum value value, uint64_t at_ns);
void tally_merge(struct tally *into, const struct tally *from);
/* Whether anything in it was sampled. */
static inline bool tally_sampled(const struct tally *tally)
{
	return tally->sampled_blocks > 0;
}
