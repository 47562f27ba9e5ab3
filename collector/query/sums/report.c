/* Computes totals of what matches, alone or with rankings. Also the names of the values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sums/groups.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/time/peak.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

static const char *const value_names[] = {
	[VALUE_ALLOCATED] = "allocated", [VALUE_LEAKED] = "leaked", [VALUE_FREED] = "temporary",
	[VALUE_IN_USE] = "in-use",	 [VALUE_PEAK] = "peak",
};

int value_parse(const char *text, enum value *ret_value)
{
	for (size_t i = 0; i < sizeof(value_names) / sizeof(value_names[0]); i++) {
		if (!strcmp(text, value_names[i]) ||
		    (i == VALUE_IN_USE && !strcmp(text, "in_use")) ||
		    (i == VALUE_FREED && !strcmp(text, "freed"))) {
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

/* The sums that totals are made from: those of all rows, or those of a filter. */
struct sums {
	struct node_sums own;
	const struct node_sums *sums;
	uint64_t peak_ns;
};

static int sum_whole(struct sums *s, struct view *view, const struct filter *filter,
		     struct err_text *err)
{
	const struct whole_sums *whole;
	int r = view_whole_sums(view, filter, WHOLE_PEAK | WHOLE_REALLOCATIONS, &whole, err);

	if (r < 0)
		return r;
	s->sums = &whole->sums;
	s->peak_ns = whole->peak_ns;
	return 0;
}

static int sum_matched(struct sums *s, struct view *view, const struct filter *filter,
		       const struct matcher *m, struct err_text *err)
{
	struct node_sums_what what = {.ends = true, .alive = true, .chains = true};
	int r = peak_moment(view, filter, &what.at_ns, err);

	if (!r)
		r = node_sums_of(&s->own, m, recording_nodes(m->recording), &what, err);
	s->sums = &s->own;
	s->peak_ns = what.at_ns;
	return r;
}

static int sums_init(struct sums *s, struct view *view, const struct filter *filter,
		     struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	*s = (struct sums){0};
	if (r < 0)
		return r;
	r = m.everything ? sum_whole(s, view, filter, err) : sum_matched(s, view, filter, &m, err);
	matcher_done(&m);
	return r;
}

static void report_sums_done(struct sums *s)
{
	node_sums_done(&s->own);
}

/* Returns the blocks that were freed. Blocks that realloc replaced are not included, except
 * survivors. */
static struct tally frees_of(const struct node_sums *sums)
{
	struct tally freed = {0};

	for (uint32_t i = 0; i < sums->count; i++) {
		struct tally one = node_sum_ended(sums, &sums->list[i], BLOCK_FREED),
			     inferred = node_sum_ended(sums, &sums->list[i], BLOCK_INFERRED),
			     later = node_sum_ended(sums, &sums->list[i], NODE_SURVIVOR_FREED);

		tally_merge(&freed, &one);
		tally_merge(&freed, &later);
		tally_merge(&freed, &inferred);
	}
	return freed;
}

static struct usage total_of(const struct recording *recording, const struct sums *s,
			     enum value value)
{
	struct tally total = node_sums_total(s->sums, value);

	return tally_total(&total, recording, value, s->peak_ns);
}

static struct report report_of(const struct recording *recording, const struct sums *s)
{
	struct tally freed = frees_of(s->sums);
	struct report report = {
		.allocated = total_of(recording, s, VALUE_ALLOCATED),
		.leaked = total_of(recording, s, VALUE_LEAKED),
		.freed = total_of(recording, s, VALUE_FREED),
		.peak = total_of(recording, s, VALUE_PEAK),
		.peak_ns = s->peak_ns,
		.duration_ns = recording_end_ns(recording),
		.frees = tally_usage(&freed).blocks,
		.reallocations = s->sums->reallocations,
		.failed = recording_pairing(recording)->failed,
		.threads = recording_threads(recording),
		.modules = recording_modules(recording),
	};

	report.allocations = report.allocated.blocks;
	for (uint32_t i = 0; i < s->sums->count; i++)
		report.distinct_stacks += s->sums->list[i].node != 0;
	return report;
}

int query_report(struct view *view, const struct filter *filter, struct report *ret_report,
		 struct err_text *err)
{
	cleanup(report_sums_done) struct sums sums;
	struct culled_usage culled;
	int r = sums_init(&sums, view, filter, err);

	if (!r)
		r = query_culled(view, filter, &culled, err);
	if (r < 0)
		return r;
	*ret_report = report_of(view->recording, &sums);
	ret_report->culled = culled;
	return 0;
}

/* ---- with rankings ---- */

static int rank(struct view *view, const struct sums *s, struct groups_question *q,
		enum value value, struct ranking *ranking)
{
	int r;

	q->value = value;
	q->at_ns = value == VALUE_PEAK ? s->peak_ns : NO_TIME - 1;
	q->grouping = GROUP_BY_SITE;
	r = groups_of(view, q, s->sums, NULL, &ranking->sites);
	q->grouping = GROUP_BY_BACKTRACE;
	return r ? r : groups_of(view, q, s->sums, NULL, &ranking->backtraces);
}

static int rank_all(struct view *view, const struct filter *filter, const struct sums *s,
		    struct overview *overview, struct err_text *err)
{
	struct groups_question q = {.filter = filter};
	int r = hiding_of(&q.hiding, view, filter, err);

	if (!r)
		r = rank(view, s, &q, VALUE_ALLOCATED, &overview->allocated);
	if (!r)
		r = rank(view, s, &q, VALUE_PEAK, &overview->peak);
	return r ? r : rank(view, s, &q, VALUE_LEAKED, &overview->leaked);
}

int query_overview(struct view *view, const struct filter *filter, struct overview *ret_overview,
		   struct err_text *err)
{
	cleanup(report_sums_done) struct sums sums = {0};
	struct overview overview = {0};
	int r = view_prepare(view, err);

	if (!r)
		r = sums_init(&sums, view, filter, err);
	if (!r) {
		overview.report = report_of(view->recording, &sums);
		r = query_culled(view, filter, &overview.report.culled, err);
	}
	if (!r)
		r = rank_all(view, filter, &sums, &overview, err);
	if (r < 0) {
		overview_done(&overview);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_overview = overview;
	return 0;
}

static void ranking_done(struct ranking *r)
{
	groups_done(&r->sites);
	groups_done(&r->backtraces);
}

void overview_done(struct overview *overview)
{
	ranking_done(&overview->allocated);
	ranking_done(&overview->peak);
	ranking_done(&overview->leaked);
}
