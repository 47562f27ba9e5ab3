/* /data/ID/export/graph: the memory in use over time as a picture. /data/ID/export/FORMAT: files
 * for other tools, by the table of collector/formats/formats.h. */
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
	REQUEST_SPAN,
	REQUEST_PIXELS("width", width, "default 1024"),
	REQUEST_PIXELS("height", height, "default 768"),
	REQUEST_BANDS,
	REQUEST_WEIGHT,
	{0},
};

static int graph_write(struct asking *a)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	cleanup(series_done) struct series_list series = {.count = 0};
	struct request_values *values = &a->values;
	int r = request_values_over_time(
		a->x, values,
		&(struct timeline_question){.from_ns = values->start_ns,
					    .to_ns = values->end_ns,
					    .buckets = values->width ? values->width : 1000},
		&timeline, &series);

	return r ? r
		 : export_graph(&timeline,
				&(struct graph_options){.incomplete = a->x->incomplete,
							.weight = values->weight,
							.width = values->width,
							.height = values->height,
							.series = series.count ? &series : NULL},
				&a->x->out, &a->x->err);
}

const struct route graph_route = {
	.path = "export/graph",
	.about = "what was in use over time, as a picture",
	.content_type = "image/svg+xml",
	.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST,
	.parameters = graph_parameters,
	.write = graph_write,
};

/* ---- for other tools ---- */

static const struct route_parameter tree_formats[] = {
	REQUEST_VALUE, REQUEST_AT, REQUEST_WEIGHT, {0}};

static const struct route_parameter graph_formats[] = {
	REQUEST_VALUE,
	REQUEST_AT,
	REQUEST_WEIGHT,
	REQUEST_NUMBER("count", count, "at most so many functions; default 80"),
	REQUEST_PERCENT("functions", "0.5"),
	{0},
};

static const struct route_parameter heap_formats[] = {
	PARAMETER_BY("value", request_values_value, "leaked, temporary, in-use, peak or allocated",
		     "what the profile holds beside what was allocated; default in-use"),
	REQUEST_AT,
	{0},
};

static const struct route_parameter event_formats[] = {
	REQUEST_VALUE, REQUEST_AT, PASSED_OVER_LOOKS, PASSED_OVER_ORDER, {0}};

static const struct parameter_word tables[] = {
	{"allocations", ROWS_ALLOCATIONS}, {"backtraces", ROWS_BACKTRACES}, {0}};

static const struct route_parameter row_formats[] = {
	REQUEST_VALUE,
	REQUEST_AT,
	REQUEST("table", PARAMETER_WORD, tables, "allocations or backtraces",
		"writes only these lines; default allocations in CSV, both in JSON",
		.words = tables),
	REQUEST_SWITCH("with_stacks", with_stacks,
		       "writes the backtrace into the line of each allocation instead of its "
		       "number; default false"),
	REQUEST_NUMBER("count", count, "at most so many allocations; default all"),
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
	struct request_values *values = &a->values;

	*(struct format_output *)a->result = (struct format_output){
		.format = format,
		.writing = {.view = a->view,
			    .filter = &values->filter,
			    .value = values->value_given ? values->value : format->value,
			    .value_given = values->value_given,
			    .at_ns = values->at_ns,
			    .weight = values->weight,
			    .incomplete = a->x->incomplete,
			    .percent_min = values->percent_min,
			    .count = values->count,
			    .tables = values->tables,
			    .with_stacks = values->with_stacks}};
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
