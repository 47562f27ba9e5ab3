/* From sums to what is shown. See tally.h. */
#include "collector/query/tally.h"

#include <math.h>

#include "base/ban.h"

static uint64_t whole(double value)
{
	return value >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)(value + 0.5);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#define Z 1.96

static double error_of(double estimate, double variance)
{
	double one = estimate > 0 ? variance / estimate : 0;

	return Z * sqrt(variance + Z * Z / 4 * one * one);
}

struct usage tally_usage(const struct tally *tally)
{
	return (struct usage){
		.blocks = add(tally->blocks, whole(tally->sampled_blocks)),
		.bytes = add(tally->bytes, whole(tally->sampled_bytes)),
		.samples = tally->samples,
		.blocks_error = error_of(tally->sampled_blocks, tally->blocks_variance),
		.bytes_error = error_of(tally->sampled_bytes, tally->bytes_variance),
	};
}

void tally_merge(struct tally *into, const struct tally *from)
{
	into->blocks += from->blocks;
	into->bytes += from->bytes;
	into->samples += from->samples;
	into->sampled_blocks += from->sampled_blocks;
	into->sampled_bytes += from->sampled_bytes;
	into->blocks_variance += from->blocks_variance;
	into->bytes_variance += from->bytes_variance;
}
