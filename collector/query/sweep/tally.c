/* Converts sums to results. See tally.h. */
#include "collector/query/sweep/tally.h"

#include <math.h>

#include "collector/query/match/matcher.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

#define Z	     1.96
#define MEAN_UNKNOWN 64.0 /* assumed bytes of a block if no block was seen */
#define UNSEEN	     3.0  /* exp(-3) is 0.05 */
/* Before its largest interval a thread had half of it, a quarter and so on. Blocks may be unseen at
 * each of them: the root of 1 + 1/4 + 1/16... */
#define SMALLER_TOO 1.1547

double tally_error(double estimate, double variance)
{
	double one = estimate > 0 ? variance / estimate : 0;

	return Z * sqrt(variance + Z * Z / 4 * one * one);
}

struct usage tally_usage(const struct tally *tally)
{
	return (struct usage){
		.blocks = sum_most(tally->blocks, whole_most(tally->sampled_blocks)),
		.bytes = sum_most(tally->bytes, whole_most(tally->sampled_bytes)),
		.samples = tally->samples,
		.blocks_error = tally_error(tally->sampled_blocks, tally->blocks_variance),
		.bytes_error = tally_error(tally->sampled_bytes, tally->bytes_variance),
	};
}

static double tally_least(double a, double b)
{
	return a < b ? a : b;
}

/*
 * Returns the bytes and blocks that may have been born unseen while the program was thinned. They
 * are at most all blocks that sampling skipped, with the mean size of the known blocks, and at most
 * UNSEEN times recording_thinned_interval (and those before it). The number of blocks assumes the
 * mean size of the sampled blocks, which are the small ones.
 */
static void unseen_births(const struct recording *recording, const struct tally *tally,
			  const struct usage *usage, double *ret_bytes, double *ret_blocks)
{
	double passed = (double)recording_ledger(recording)->not_sampled;
	double most = UNSEEN * SMALLER_TOO * recording_thinned_interval(recording);
	double mean = usage->bytes ? (double)usage->bytes / (double)usage->blocks : MEAN_UNKNOWN;
	double small = tally->sampled_bytes > 0 ? tally->sampled_bytes / tally->sampled_blocks
						: MEAN_UNKNOWN;

	*ret_bytes = tally_least(passed * mean, most);
	*ret_blocks = tally_least(passed, most / small);
}

struct usage tally_total(const struct tally *tally, const struct recording *recording,
			 enum value value, uint64_t at_ns)
{
	bool moment = value == VALUE_IN_USE || value == VALUE_PEAK;
	struct usage usage = tally_usage(tally);
	const struct thinned_info thinned = recording_thinned(recording);
	double bytes, blocks;

	if (!thinned.from_ns || (moment && at_ns < thinned.from_ns))
		return usage;
	unseen_births(recording, tally, &usage, &bytes, &blocks);
	usage.bytes_error = hypot(usage.bytes_error, bytes);
	usage.blocks_error = hypot(usage.blocks_error, blocks);
	if (value_has_survivors(value)) {
		usage.bytes_error = hypot(usage.bytes_error, (double)thinned.alive_bytes);
		usage.blocks_error = hypot(usage.blocks_error, (double)thinned.alive_blocks);
	}
	return usage;
}

void tally_merge(struct tally *into, const struct tally *from)
{
	add_most(&into->blocks, from->blocks);
	add_most(&into->bytes, from->bytes);
	into->samples += from->samples;
	into->sampled_blocks += from->sampled_blocks;
	into->sampled_bytes += from->sampled_bytes;
	into->blocks_variance += from->blocks_variance;
	into->bytes_variance += from->bytes_variance;
}
