/* Totals of what matches. Also the names of the values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/culled.h"
#include "collector/query/matcher.h"
#include "collector/query/tally.h"
#include "collector/query/view.h"

#include "base/ban.h"

static const char *const value_names[] = {
	[VALUE_ALLOCATED] = "allocated", [VALUE_LEAKED] = "leaked", [VALUE_TEMPORARY] = "temporary",
	[VALUE_IN_USE] = "in-use",	 [VALUE_PEAK] = "peak",
};

int value_parse(const char *text, enum value *ret_value)
{
	for (size_t i = 0; i < sizeof(value_names) / sizeof(value_names[0]); i++) {
		if (!strcmp(text, value_names[i]) ||
		    (i == VALUE_IN_USE && !strcmp(text, "in_use"))) {
			*ret_value = (enum value)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *value_name(enum value value)
{
	return value_names[value];
}

struct totals {
	struct tally allocated, freed, leaked, temporary, peak;
	struct report *report;
	uint8_t *stack_seen;
	uint32_t nodes;
};

static void count_stack(struct totals *t, uint32_t stack)
{
	if (stack && stack <= t->nodes && !t->stack_seen[stack]) {
		t->stack_seen[stack] = 1;
		t->report->distinct_stacks++;
	}
}

static void count_row(struct totals *t, const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i);

	tally_add(&t->allocated, size, weight);
	if (row_leaked(block, i))
		tally_add(&t->leaked, size, weight);
	else if (row_freed(block, i))
		tally_add(&t->temporary, size, weight);
	if (block->end[i] == BLOCK_FREED || block->end[i] == BLOCK_INFERRED)
		tally_add(&t->freed, size, weight);
	t->report->reallocations += block->chain_previous[i] != NO_BLOCK;
	if (row_alive(block, i, t->report->peak_ns))
		tally_add(&t->peak, size, weight);
	count_stack(t, block->stack[i]);
}

static void count_culled(struct totals *t, const struct culled_row *row)
{
	struct culled_row freed = *row;

	freed.blocks -= freed.reallocated; /* of which only the number is asked */
	tally_add_culled(&t->allocated, row);
	tally_add_culled(&t->temporary, row);
	tally_add_culled(&t->freed, &freed);
	count_stack(t, row->stack);
}

static int count_rows(struct totals *t, struct view *view, const struct filter *filter,
		      struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	for (uint32_t b = 0; !r && b < recording_blocks(m.recording); b++) {
		const struct row_block *block = recording_block(m.recording, b);
		uint32_t count = matcher_block(&m, block);

		r = matcher_cancelled(&m, err);
		for (uint32_t i = 0; !r && i < count; i++)
			if (matcher_row(&m, block, i))
				count_row(t, block, i);
	}
	if (!r)
		culled_each(&m, row)
			count_culled(t, row);
	matcher_done(&m);
	return r;
}

int query_report(struct view *view, const struct filter *filter, struct report *ret_report,
		 struct err_text *err)
{
	const struct recording *recording = view->recording;
	struct report report = {
		.duration_ns = recording_end_ns(recording),
		.failed = recording_pairing(recording)->failed,
		.threads = recording_threads(recording),
		.modules = recording_modules(recording),
	};
	struct totals totals = {.report = &report, .nodes = recording_nodes(recording)};
	cleanup(cleanup_free) uint8_t *seen = calloc((size_t)totals.nodes + 1, 1);
	int r;

	if (!seen)
		return err_set(err, -ENOMEM, "out of memory");
	totals.stack_seen = seen;
	r = peak_moment(view, filter, &report.peak_ns, err);
	if (!r)
		r = count_rows(&totals, view, filter, err);
	if (!r)
		r = query_culled(view, filter, &report.culled, err);
	if (r < 0)
		return r;
	report.allocated = tally_usage(&totals.allocated);
	report.allocations = report.allocated.blocks;
	report.frees = tally_usage(&totals.freed).blocks;
	report.leaked = tally_usage(&totals.leaked);
	report.temporary = tally_usage(&totals.temporary);
	report.peak = tally_usage(&totals.peak);
	*ret_report = report;
	return 0;
}
