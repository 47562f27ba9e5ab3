/* Totals of what matches. Also the names of the values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/query/culled.h"
#include "collector/query/node_sums.h"
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
	struct node_sums sums; /* of one node, which all rows fall to */
	uint64_t reallocations;
	uint32_t nodes;
	uint8_t *stack_seen; /* by node */
};

static int totals_init(struct totals *t, uint32_t nodes, const struct node_sums_what *what)
{
	t->nodes = nodes;
	t->stack_seen = calloc((size_t)nodes + 1, 1);
	return node_sums_init(&t->sums, 0, what) < 0 || !t->stack_seen ? -ENOMEM : 0;
}

static void totals_done(struct totals *t)
{
	node_sums_done(&t->sums);
	free(t->stack_seen);
}

static int totals_new(void *context, void **ret_part)
{
	const struct totals *whole = context;
	struct totals *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	return totals_init(part, whole->nodes, &whole->sums.what);
}

static int totals_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	struct totals *t = part;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);

		t->reallocations += block->chain_previous[i] != NO_BLOCK;
		t->stack_seen[block->stack[i] <= t->nodes ? block->stack[i] : 0] = 1;
	}
	return node_sums_add(&t->sums, block, rows);
}

static int totals_merge(void *context, void *part)
{
	struct totals *whole = context, *t = part;

	whole->reallocations += t->reallocations;
	for (uint32_t n = 0; n <= whole->nodes; n++)
		whole->stack_seen[n] |= t->stack_seen[n];
	return node_sums_merge(&whole->sums, &t->sums);
}

static void totals_free(void *part)
{
	totals_done(part);
	free(part);
}

static int sum_rows(struct totals *totals, const struct matcher *m, uint64_t peak_ns,
		    struct err_text *err)
{
	int r = totals_init(
		totals, recording_nodes(m->recording),
		&(struct node_sums_what){.ends = true, .alive = true, .at_ns = peak_ns});

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = sweep_run(&(struct sweep){.matcher = m,
				      .columns = node_sums_columns(&totals->sums) | ROWS_CHAIN,
				      .context = totals,
				      .part_new = totals_new,
				      .part_rows = totals_rows,
				      .part_merge = totals_merge,
				      .part_free = totals_free},
		      err);
	if (!r)
		culled_each(m, row)
		{
			r = r ? r : node_sums_add_culled(&totals->sums, row);
			totals->stack_seen[row->stack <= totals->nodes ? row->stack : 0] = 1;
		}
	return r;
}

static struct tally total_of(const struct node_sums *sums, enum value value)
{
	return sums->count ? node_sum_tally(sums, &sums->list[0], value) : (struct tally){0};
}

/* Freed, but not to be reallocated. */
static struct tally frees_of(const struct node_sums *sums)
{
	struct tally freed = {0}, inferred;

	if (!sums->count)
		return freed;
	freed = node_sum_ended(sums, &sums->list[0], BLOCK_FREED);
	inferred = node_sum_ended(sums, &sums->list[0], BLOCK_INFERRED);
	tally_merge(&freed, &inferred);
	return freed;
}

static void fill_report(struct report *report, const struct totals *t)
{
	struct tally allocated = total_of(&t->sums, VALUE_ALLOCATED),
		     leaked = total_of(&t->sums, VALUE_LEAKED),
		     temporary = total_of(&t->sums, VALUE_TEMPORARY),
		     peak = total_of(&t->sums, VALUE_PEAK), freed = frees_of(&t->sums);

	report->allocated = tally_usage(&allocated);
	report->allocations = report->allocated.blocks;
	report->leaked = tally_usage(&leaked);
	report->temporary = tally_usage(&temporary);
	report->peak = tally_usage(&peak);
	report->frees = tally_usage(&freed).blocks;
	report->reallocations = t->reallocations;
	for (uint32_t n = 1; n <= t->nodes; n++)
		report->distinct_stacks += t->stack_seen[n];
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
	struct totals totals = {0};
	struct matcher m = {0};
	int r = peak_moment(view, filter, &report.peak_ns, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (!r)
		r = sum_rows(&totals, &m, report.peak_ns, err);
	if (!r)
		r = query_culled(view, filter, &report.culled, err);
	if (!r)
		fill_report(&report, &totals);
	totals_done(&totals);
	matcher_done(&m);
	if (!r)
		*ret_report = report;
	return r;
}
