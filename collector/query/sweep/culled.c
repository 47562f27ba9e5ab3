/* Matches sums of culled blocks against filters. See culled.h. */
#include "collector/query/sweep/culled.h"

#include "collector/columns/row_block.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"
#include "proto/culled.h"
#include "base/ban.h"

static enum culled_fit culled_least(enum culled_fit a, enum culled_fit b)
{
	return a < b ? a : b;
}

/* CULLED_YES if the range contains all of [low, high], CULLED_NO if none of it, else
 * CULLED_UNKNOWN. */
static enum culled_fit in_range(uint64_t low, uint64_t high, uint64_t min, uint64_t max)
{
	if (low > max || high < min)
		return CULLED_NO;
	return low >= min && high <= max ? CULLED_YES : CULLED_UNKNOWN;
}

static enum culled_fit equals(uint32_t wanted, uint32_t number)
{
	return !wanted || wanted == number ? CULLED_YES : CULLED_NO;
}

static enum culled_fit truth(bool yes)
{
	return yes ? CULLED_YES : CULLED_NO;
}

static uint64_t last_birth(const struct culled_row *row)
{
	return row->last_ns + CULLED_TICK_NS - 1;
}

/* Tells whether a block of the sum could have been alive at that time. */
static enum culled_fit alive(const struct culled_row *row, uint64_t at_ns)
{
	uint64_t end;

	if (at_ns == NO_TIME)
		return CULLED_YES;
	if (__builtin_add_overflow(last_birth(row), culled_lifetime_most(row->lifetime), &end))
		end = UINT64_MAX;
	return at_ns < row->first_ns || at_ns > end ? CULLED_NO : CULLED_UNKNOWN;
}

/* A culled block was freed. Whether that was in the filter's range is certain only if the range
 * covers everything. */
static enum culled_fit fate(const struct filter *f)
{
	bool whole = !f->from_ns && f->to_ns == UINT64_MAX;

	switch (f->lifetime) {
	case LIFETIME_ALL:
	case LIFETIME_ONLY_FREED:
		return CULLED_YES;
	case LIFETIME_ONLY_LEAKED:
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		return CULLED_NO;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		return whole ? CULLED_YES : CULLED_UNKNOWN;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		return whole ? CULLED_NO : CULLED_UNKNOWN;
	case LIFETIME_ONLY_CHAIN_LEAKED:
		break;
	}
	return CULLED_UNKNOWN;
}

/* The columns for which a sum tells what culled_fit has to know. */
#define CULLED_COLUMNS                                                                             \
	(ROWS_STACK | ROWS_THREAD | ROWS_SIZE | ROWS_WEIGHT | ROWS_BIRTH | ROWS_DEATH | ROWS_END | \
	 ROWS_KIND)

/* Returns CULLED_UNKNOWN if the filter has conditions that only rows can answer. */
static enum culled_fit tellable(const struct matcher *m)
{
	return m->columns & ~CULLED_COLUMNS || m->row_passes ? CULLED_UNKNOWN : CULLED_YES;
}

enum culled_fit culled_fit(const struct matcher *m, const struct culled_row *row)
{
	const struct filter *f = m->filter;
	enum culled_fit fit = culled_least(fate(f), tellable(m));

	if (m->everything)
		return CULLED_YES;
	if (f->before_start)
		return CULLED_NO;
	fit = culled_least(fit, in_range(row->first_ns, last_birth(row), f->from_ns, f->to_ns));
	fit = culled_least(fit,
			   in_range(row->size_least, row->size_most, f->size_min, f->size_max));
	fit = culled_least(fit, in_range(culled_lifetime_least(row->lifetime),
					 culled_lifetime_most(row->lifetime), f->lifetime_min_ns,
					 f->lifetime_max_ns));
	fit = culled_least(fit, culled_least(equals(f->thread, row->thread),
					     equals(f->backtrace, row->stack)));
	fit = culled_least(fit,
			   culled_least(alive(row, f->alive_at_ns), alive(row, f->alive_at_2_ns)));
	if (m->thread_passes)
		fit = culled_least(
			fit, truth(m->thread_passes[row->thread <= m->threads ? row->thread : 0]));
	if (m->node_passes)
		fit = culled_least(fit,
				   truth(m->node_passes[row->stack <= m->nodes ? row->stack : 0]));
	return fit;
}

uint32_t culled_next(const struct matcher *m, uint32_t from)
{
	uint32_t count = recording_culled_count(m->recording);

	while (from < count && culled_fit(m, recording_culled(m->recording, from)) != CULLED_YES)
		from++;
	return from;
}

void tally_add_culled(struct tally *tally, const struct culled_row *row)
{
	struct tally one = {0};
	double n = (double)row->blocks;

	if (!tally_is_sampled(row->size_least, row->weight)) {
		add_most(&tally->blocks, row->blocks);
		add_most(&tally->bytes, row->bytes);
		return;
	}
	tally_add(&one, row->size_least, row->weight); /* all blocks of a sampled sum are alike */
	tally->samples += row->blocks;
	tally->sampled_blocks += n * one.sampled_blocks;
	tally->sampled_bytes += n * one.sampled_bytes;
	tally->blocks_variance += n * one.blocks_variance;
	tally->bytes_variance += n * one.bytes_variance;
}

int query_culled(struct view *view, const struct filter *filter, struct culled_usage *ret_usage,
		 struct err_text *err)
{
	struct tally matched = {0}, unknown = {0};
	struct matcher m;
	int r = recording_culled_count(view->recording) ? matcher_init(&m, view, filter, err) : 1;

	*ret_usage = (struct culled_usage){0};
	if (r)
		return r < 0 ? r : 0;
	for (uint32_t i = 0; i < recording_culled_count(m.recording); i++) {
		const struct culled_row *row = recording_culled(m.recording, i);
		enum culled_fit fit = culled_fit(&m, row);

		if (fit != CULLED_NO)
			tally_add_culled(fit == CULLED_YES ? &matched : &unknown, row);
	}
	matcher_done(&m);
	ret_usage->matched = tally_usage(&matched);
	ret_usage->unknown = tally_usage(&unknown);
	return 0;
}
