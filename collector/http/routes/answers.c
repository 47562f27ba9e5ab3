/* Answers under /data/ID that are one object: use over time, histogram, a moment, leaks, totals,
 * hidden functions, differences, the account. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/answers/account.h"
#include "collector/answers/results.h"
#include "collector/http/routes/asking.h"
#include "collector/http/routes/base.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/suppress.h"
#include "collector/recording/recording.h"
#include "collector/query/survivors.h"

#include "base/ban.h"

/* ---- over time ---- */

static const struct route_parameter timeline_parameters[] = {
	REQUEST_SPAN,
	REQUEST_RANGE("points", points, 1, 100000, "a number from 1 to 100000",
		      "at most so many points; default 1000"),
	REQUEST_BANDS,
	REQUEST_WEIGHT,
	REQUEST_PREVIEW,
	{0},
};

DEFINE_DONE(told_timeline_done)

static int ask_over_time(struct asking *a, bool leaked_only)
{
	struct told_timeline *over = a->result;

	over->weight = a->values.weight;
	return request_values_over_time(a->x, &a->values,
					&(struct timeline_question){.from_ns = a->values.start_ns,
								    .to_ns = a->values.end_ns,
								    .buckets = a->values.points,
								    .leaked_only = leaked_only},
					&over->timeline, &over->series);
}

static int timeline_ask(struct asking *a)
{
	return ask_over_time(a, false);
}

static int timeline_leaked_ask(struct asking *a)
{
	return ask_over_time(a, true);
}

const struct route timeline_route = {
	.path = "timeline",
	.about = "what was in use over time",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = timeline_parameters,
	.answer = &told_timeline_answer,
	ROUTE_ASKS(struct told_timeline, timeline_ask, told_timeline_done_result),
};
const struct route timeline_leaked_route = {
	.path = "timeline_leaked",
	.about = "what was in use over time, of blocks that were not freed",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = timeline_parameters,
	.answer = &told_timeline_answer,
	ROUTE_ASKS(struct told_timeline, timeline_leaked_ask, told_timeline_done_result),
};

/* ---- sizes and lifetimes ---- */

struct told_histogram {
	const char *value;
	struct histogram histogram;
};

#define ANSWER_OF struct told_histogram
static const struct answer_field histogram_fields[] = {
	ROW("value", value, NULL, "which of the matched blocks count"),
	ROWS_OF(histogram_answer, histogram),
	{0},
};
#undef ANSWER_OF
static const struct answer histogram_route_answer = {"histogram", histogram_fields};

static int histogram_ask(struct asking *a)
{
	struct told_histogram *told = a->result;

	told->value = value_name(a->values.value);
	return query_histogram(a->view, &a->values.filter, a->values.value, a->values.at_ns,
			       &told->histogram, &a->x->err);
}

static void told_histogram_done(void *result)
{
	histogram_done(&((struct told_histogram *)result)->histogram);
}

const struct route histogram_route = {
	.path = "histogram",
	.about = "sizes and lifetimes",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters =
		(const struct route_parameter[]){REQUEST_VALUE, REQUEST_AT, REQUEST_PREVIEW, {0}},
	.answer = &histogram_route_answer,
	ROUTE_ASKS(struct told_histogram, histogram_ask, told_histogram_done),
};

/* ---- a moment ---- */

#define ANSWER_OF struct groups
static const struct answer_field moment_fields[] = {
	ROW_AS("timestamp", at_ns, ANSWER_TIMES, "since the epoch", "the moment"),
	ROW("at_ns", at_ns, "ns", "the moment, since the start"),
	ROWS_SAME(groups_answer),
	{0},
};
#undef ANSWER_OF
static const struct answer moment_answer = {"moment", moment_fields};

static int ask_moment(struct asking *a, enum value value, uint64_t at_ns)
{
	return query_groups(a->view, &a->values.filter, a->values.grouping, value, at_ns, a->result,
			    &a->x->err);
}

static int snapshot_ask(struct asking *a)
{
	uint64_t end = recording_end_ns(a->x->source->recording);

	return ask_moment(a, VALUE_IN_USE, a->values.at_ns < end ? a->values.at_ns : end);
}

static int peak_ask(struct asking *a)
{
	return ask_moment(a, VALUE_PEAK, NO_TIME);
}

DEFINE_DONE(groups_done)

const struct route snapshot_route = {
	.path = "snapshot",
	.about = "what was in use at a moment, by group",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters =
		(const struct route_parameter[]){
			REQUEST_AT, REQUEST_BY, REQUEST_GROUPS, REQUEST_PREVIEW, {0}},
	.answer = &moment_answer,
	ROUTE_ASKS(struct groups, snapshot_ask, groups_done_result),
};
const struct route peak_route = {
	.path = "peak",
	.about = "what was in use when most was, by group",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters =
		(const struct route_parameter[]){REQUEST_BY, REQUEST_GROUPS, REQUEST_PREVIEW, {0}},
	.answer = &moment_answer,
	ROUTE_ASKS(struct groups, peak_ask, groups_done_result),
};

/* ---- leaks and totals ---- */

static const struct route_parameter leaks_parameters[] = {
	REQUEST("young", PARAMETER_DURATION, young_ns, "a duration (10 or 10s, 4h3m2s, 100ms)",
		"blocks younger than this are recent; default a hundredth of the recording"),
	REQUEST("suppress", PARAMETER_WORD, unsuppressed, "known or none",
		"known (default): without the blocks that libraries are known to keep; none: with "
		"them",
		.words = request_suppress),
	REQUEST_GROUPS,
	REQUEST_PREVIEW,
	{0},
};

struct told_leaks {
	struct survivors survivors;
	struct suppressions *suppressions;
	struct suppressed suppressed;
};

#define ANSWER_OF struct told_leaks
static const struct answer_field told_leaks_fields[] = {
	ROWS_OF(survivors_answer, survivors),
	ROW_OBJECT("suppressed", suppressed, suppressed_answer, "what suppressions left out"),
	{0},
};
#undef ANSWER_OF
static const struct answer told_leaks_answer = {"leaks_and_suppressed", told_leaks_fields};

static int leaks_ask(struct asking *a)
{
	struct told_leaks *told = a->result;
	struct filter filter = a->values.filter;
	int r = 0;

	if (!a->values.unsuppressed) {
		told->suppressions = suppressions_new(true);
		if (!told->suppressions)
			return -ENOMEM;
		filter.suppress = told->suppressions;
		r = query_suppressed(a->view, &filter, VALUE_LEAKED, NO_TIME, &told->suppressed,
				     &a->x->err);
	}
	return r ? r
		 : query_survivors(a->view, &filter, a->values.young_ns, &told->survivors,
				   &a->x->err);
}

static void told_leaks_done(void *result)
{
	struct told_leaks *told = result;

	survivors_done(&told->survivors);
	suppressed_done(&told->suppressed);
	suppressions_free(told->suppressions);
}

const struct route leaks_route = {
	.path = "leaks",
	.about = "what was not freed, by survival",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = leaks_parameters,
	.answer = &told_leaks_answer,
	ROUTE_ASKS(struct told_leaks, leaks_ask, told_leaks_done),
};

static int report_ask(struct asking *a)
{
	return query_report(a->view, &a->values.filter, a->result, &a->x->err);
}

const struct route report_route = {
	.path = "report",
	.about = "totals",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = (const struct route_parameter[]){REQUEST_PREVIEW, {0}},
	.answer = &report_answer,
	ROUTE_ASKS(struct report, report_ask, NULL),
};

/* ---- hidden functions ---- */

struct told_hidden {
	struct hidden_function *list;
	size_t count;
};

#define ANSWER_OF struct told_hidden
static const struct answer_field told_hidden_fields[] = {
	ROW("hidden_count", count, NULL, "how many functions are hidden"),
	ROW_PAGE("hidden", list, count, hidden_answer,
		 "wrappers first, then those known by name; of each those in most backtraces "
		 "first"),
	{0},
};
#undef ANSWER_OF
static const struct answer told_hidden_answer = {"hidden", told_hidden_fields};

static int hidden_ask(struct asking *a)
{
	struct told_hidden *told = a->result;

	return query_hidden(a->view, &a->values.filter, &told->list, &told->count, &a->x->err);
}

static void told_hidden_done(void *result)
{
	free(((struct told_hidden *)result)->list);
}

const struct route hidden_route = {
	.path = "hidden",
	.about = "functions that only pass allocations on, and which call sites and trees "
		 "therefore leave out",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = (const struct route_parameter[]){REQUEST_PAGE, {0}},
	.answer = &told_hidden_answer,
	ROUTE_ASKS(struct told_hidden, hidden_ask, told_hidden_done),
};

/* ---- differences ---- */

static const struct route_parameter diff_parameters[] = {
	REQUEST_BASE("the id of a recording, and @TIME behind it for a moment",
		     "what is held against this recording"),
	REQUEST_VALUE,
	REQUEST_AT,
	REQUEST_BY,
	REQUEST_GROUPS,
	{0},
};

static int diff_ask(struct asking *a)
{
	struct diff_side base, now;
	int r;

	if (!a->values.base)
		return asking_fault(a, "base",
				    err_set(&a->x->err, -EINVAL,
					    "base is missing: it takes the id of a recording, and "
					    "@TIME behind it for a moment"));
	r = base_take(a, &base, &now);
	return r ? r : query_diff(&base, &now, a->values.grouping, a->result, &a->x->err);
}

DEFINE_DONE(diff_done)

const struct route diff_route = {
	.path = "diff",
	.about = "what differs from another recording or moment",
	.flags = ROUTE_OF_RECORDING,
	.parameters = diff_parameters,
	.answer = &diff_answer,
	ROUTE_ASKS(struct diff, diff_ask, diff_done_result),
};

/* ---- the account, as in `collector ledger --json` ---- */

static int ledger_write(struct asking *a)
{
	const struct recording *recording = a->x->source->recording;
	struct completeness completeness;
	struct err_text reason = {0};

	recording_completeness(recording, &completeness);
	recording_adds_up(recording, &reason);
	json_account(&a->json, recording, &completeness, reason.text);
	return 0;
}

const struct route ledger_route = {
	.path = "ledger",
	.about = "the account: what was produced, stored and lost, and why",
	.flags = ROUTE_OF_RECORDING,
	.answer = &account_answer,
	.write = ledger_write,
};
