/* /data/ID/export/graph, what was in use over time as a picture; and /data/ID/export/FORMAT, files
 * for other tools, as the table of collector/formats/formats.h has them. */
#include "base/cleanup.h"
#include "collector/answers/results.h"
#include "collector/formats/formats.h"
#include "collector/formats/write/export.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

/* ---- over time ---- */

static const struct route_parameter graph_parameters[] = {
	WHAT_SPAN,
	WHAT_PIXELS("width", width, "default 1024"),
	WHAT_PIXELS("height", height, "default 768"),
	WHAT_BANDS,
	WHAT_WEIGHT,
	{0},
};

static int graph_write(struct asking *a)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	cleanup(series_done) struct series_list series = {.count = 0};
	struct what *what = &a->what;
	int r = what_over_time(
		a->x, what,
		&(struct timeline_question){.from_ns = what->start_ns,
					    .to_ns = what->end_ns,
					    .buckets = what->width ? what->width : 1000},
		&timeline, &series);

	return r ? r
		 : export_graph(&timeline,
				&(struct graph_options){.incomplete = a->x->incomplete,
							.weight = what->weight,
							.width = what->width,
							.height = what->height,
							.series = series.count ? &series : NULL},
				&a->x->out, &a->x->err);
}

const struct route graph_route = {
	.path = "export/graph",
	.about = "what was in use over time, a picture",
	.content_type = "image/svg+xml",
	.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST,
	.parameters = graph_parameters,
	.write = graph_write,
};

/* ---- for other tools ---- */

static const struct route_parameter tree_formats[] = {WHAT_VALUE, WHAT_AT, WHAT_WEIGHT, {0}};

static const struct route_parameter graph_formats[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	WHAT_NUMBER("count", count, "at most so many functions; default 80"),
	WHAT_PERCENT("functions", "0.5"),
	{0},
};

static const struct route_parameter heap_formats[] = {
	PARAMETER_BY("value", what_value, "leaked, temporary, in-use, peak or allocated",
		     "what stands beside what was allocated; default in-use"),
	WHAT_AT,
	{0},
};

static const struct route_parameter event_formats[] = {
	WHAT_VALUE, WHAT_AT, PASSED_OVER_LOOKS, PASSED_OVER_ORDER, {0}};

static const struct parameter_word tables[] = {
	{"allocations", ROWS_ALLOCATIONS}, {"backtraces", ROWS_BACKTRACES}, {0}};

static const struct route_parameter row_formats[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT("table", PARAMETER_WORD, tables, "allocations or backtraces",
	     "only these lines; default allocations in CSV, both in JSON", .words = tables),
	WHAT_SWITCH("with_stacks", with_stacks,
		    "backtraces in each line of an allocation, not their numbers; default false"),
	WHAT_NUMBER("count", count, "at most so many allocations; default all"),
	{0},
};

const struct route_parameter *format_parameters(const struct format *format)
{
	switch (format->takes) {
	case TAKES_WEIGHT:
		return tree_formats;
	case TAKES_OF_GRAPHS:
		return graph_formats;
	case TAKES_OF_ROWS:
		return row_formats;
	default:
		return format->value == VALUE_IN_USE ? heap_formats : event_formats;
	}
}

static int format_ask(struct asking *a)
{
	const struct format *format = a->x->route.format;
	struct what *what = &a->what;

	*(struct format_output *)a->result = (struct format_output){
		.format = format,
		.writing = {.view = a->view,
			    .filter = &what->filter,
			    .value = what->value_given ? what->value : format->value,
			    .value_given = what->value_given,
			    .at_ns = what->at_ns,
			    .weight = what->weight,
			    .incomplete = a->x->incomplete,
			    .percent_min = what->percent_min,
			    .count = what->count,
			    .tables = what->tables,
			    .with_stacks = what->with_stacks}};
	return 0;
}

static int format_write(struct asking *a)
{
	return format_some(a->result, STEP_BYTES, &a->x->out, &a->x->err);
}

DEFINE_DONE(format_output_done)

const struct route format_route = {
	.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST,
	ROUTE_ASKS(struct format_output, format_ask, format_output_done_result),
	.write = format_write,
};
