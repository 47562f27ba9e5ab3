/* Answers under /data/ID that are one object: use over time, sizes, a moment, leaks, totals,
 * differences. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/answers/results.h"
#include "collector/answers/json.h"
#include "collector/http/routes/base.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

static int close_object(struct exchange *x, struct json *json)
{
	json_end(json, '}');
	return buf_error(&x->out);
}

/* ---- over time ---- */

const struct route_parameter timeline_parameters[] = {
	{"start", what_moment, "time",
	 "the part of the recording that is shown begins here; default its start"},
	{"end", what_moment, "time", "and ends here; default its end"},
	{"points", what_points, "number", "at most so many; default 1000"},
	WHAT_BANDS,
	WHAT_WEIGHT,
	WHAT_PREVIEW,
	{0},
};

static const struct answer_field timeline_fields[] = {
	ROWS_BY_HAND(timeline_answer),
	BY_HAND("series", ANSWER_OBJECT, NULL, "bands, the largest first", .shape = ANSWER_LIST,
		.of = &series_answer, .when = SOMETIMES),
	{0},
};
const struct answer timeline_route_answer = {"timeline", timeline_fields};

static int timeline(struct exchange *x, bool leaked_only)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	cleanup(series_done) struct series_list series = {.count = 0};
	cleanup(what_done) struct what what;
	struct json json;
	int r = what_read(x, timeline_parameters, &what);

	if (!r)
		r = what_over_time(x, &what,
				   &(struct timeline_question){.from_ns = what.start_ns,
							       .to_ns = what.end_ns,
							       .buckets = what.points,
							       .leaked_only = leaked_only},
				   &timeline, &series);
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_timeline(&json, &timeline, recording_process(x->source->recording)->start_wall_ns);
	if (series.count)
		json_series(&json, &timeline, &series, what.weight);
	return close_object(x, &json);
}

int timeline_step(struct exchange *x)
{
	return timeline(x, false);
}

int timeline_leaked_step(struct exchange *x)
{
	return timeline(x, true);
}

/* ---- sizes and lifetimes ---- */

const struct route_parameter histogram_parameters[] = {WHAT_VALUE, WHAT_AT, WHAT_PREVIEW, {0}};

static const struct answer_field histogram_fields[] = {
	BY_HAND("value", ANSWER_TEXT, NULL, "which of the matched blocks count"),
	ROWS_BY_HAND(histogram_answer),
	{0},
};
const struct answer histogram_route_answer = {"histogram", histogram_fields};

int histogram_step(struct exchange *x)
{
	cleanup(histogram_done) struct histogram histogram = {0};
	cleanup(what_done) struct what what;
	struct json json;
	int r = what_read(x, histogram_parameters, &what);

	if (!r)
		r = query_histogram(x->source->view, &what.filter, what.value, what.at_ns,
				    &histogram, &x->err);
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_string(&json, "value", value_name(what.value));
	json_histogram(&json, &histogram);
	return close_object(x, &json);
}

/* ---- a moment ---- */

const struct route_parameter snapshot_parameters[] = {WHAT_AT,	  WHAT_BY,	WHAT_SKIP,
						      WHAT_COUNT, WHAT_PREVIEW, {0}};
const struct route_parameter peak_parameters[] = {
	WHAT_BY, WHAT_SKIP, WHAT_COUNT, WHAT_PREVIEW, {0}};

static const struct answer_field moment_fields[] = {
	BY_HAND("timestamp", ANSWER_TIMES, "since the epoch", "the moment"),
	BY_HAND("at_ns", ANSWER_U64, "ns", "the moment, since the start"),
	ROWS_BY_HAND(groups_answer),
	{0},
};
const struct answer moment_answer = {"moment", moment_fields};

static int moment(struct exchange *x, struct what *what, enum value value, uint64_t at_ns)
{
	cleanup(groups_done) struct groups groups = {0};
	struct json json;
	int r = query_groups(x->source->view, &what->filter, what->grouping, value, at_ns, &groups,
			     &x->err);

	if (r < 0)
		return r;
	json_answer(&json, x);
	json_times(&json, "timestamp", x->source->view, groups.at_ns);
	json_u64(&json, "at_ns", groups.at_ns);
	json_groups(&json, &groups, what->skip, what->count);
	return close_object(x, &json);
}

int snapshot_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	uint64_t end = recording_end_ns(x->source->recording);
	int r = what_read(x, snapshot_parameters, &what);

	return r ? r : moment(x, &what, VALUE_IN_USE, what.at_ns < end ? what.at_ns : end);
}

int peak_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	int r = what_read(x, peak_parameters, &what);

	return r ? r : moment(x, &what, VALUE_PEAK, NO_TIME);
}

/* ---- leaks and totals ---- */

const struct route_parameter leaks_parameters[] = {
	{"young", what_young, "duration",
	 "blocks younger than this are recent; default a hundredth of the recording"},
	WHAT_SKIP,
	WHAT_COUNT,
	WHAT_PREVIEW,
	{0},
};
const struct route_parameter report_parameters[] = {WHAT_PREVIEW, {0}};

int leaks_step(struct exchange *x)
{
	cleanup(survivors_done) struct survivors survivors = {0};
	cleanup(what_done) struct what what;
	struct json json;
	int r = what_read(x, leaks_parameters, &what);

	if (!r)
		r = query_survivors(x->source->view, &what.filter, what.young_ns, &survivors,
				    &x->err);
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_survivors(&json, &survivors, what.skip, what.count);
	return close_object(x, &json);
}

int report_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	struct report report;
	struct json json;
	int r = what_read(x, report_parameters, &what);

	if (!r)
		r = query_report(x->source->view, &what.filter, &report, &x->err);
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_report(&json, &report);
	return close_object(x, &json);
}

/* ---- differences ---- */

const struct route_parameter diff_parameters[] = {
	{"base", what_base, "id of a recording, and @TIME behind it for a moment",
	 "what is held against this recording"},
	WHAT_VALUE,
	WHAT_AT,
	WHAT_BY,
	WHAT_SKIP,
	WHAT_COUNT,
	{0},
};

static int answer_diff(struct exchange *x, const struct what *what, const struct diff_side *base,
		       const struct diff_side *now)
{
	cleanup(diff_done) struct diff diff = {0};
	struct json json;
	int r = query_diff(base, now, what->grouping, &diff, &x->err);

	if (r < 0)
		return r;
	json_answer(&json, x);
	json_diff(&json, &diff, what->skip, what->count);
	return close_object(x, &json);
}

int diff_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	int r = what_read(x, diff_parameters, &what);

	if (r < 0)
		return r;
	if (!what.base[0]) {
		snprintf(x->parameter, sizeof(x->parameter), "base");
		return err_set(&x->err, -EINVAL,
			       "base is missing: it takes the id of a recording, and @TIME behind "
			       "it for a moment");
	}
	return base_ask_both(x, diff_parameters, &what, answer_diff);
}
