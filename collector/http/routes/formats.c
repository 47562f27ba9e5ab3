/* /data/ID/export/FORMAT: files for other tools, as the table of collector/formats/formats.h has
 * them. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collector/formats/formats.h"
#include "collector/http/routes/what.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define STEP_BYTES (128u << 10)

static const struct route_parameter tree_formats[] = {WHAT_VALUE, WHAT_AT, WHAT_WEIGHT, {0}};

static const struct route_parameter graph_formats[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	{"count", what_number, "whole number", "at most so many functions; default 80"},
	{"percent_min", what_percent, "number",
	 "leave out functions with less than this part of the whole; default 0.5"},
	{0},
};

static const struct route_parameter heap_formats[] = {
	{"value", what_value, "leaked, temporary, in-use, peak or allocated",
	 "what stands beside what was allocated; default in-use"},
	WHAT_AT,
	{0},
};

static const struct route_parameter event_formats[] = {
	WHAT_VALUE, WHAT_AT, PASSED_OVER_LOOKS, PASSED_OVER_ORDER, {0}};

static const struct route_parameter row_formats[] = {
	WHAT_VALUE,
	WHAT_AT,
	{"table", what_table, "allocations or backtraces",
	 "only these lines; default allocations in CSV, both in JSON"},
	{"with_stacks", what_with_stacks, "true or false",
	 "backtraces in each line of an allocation, not their numbers; default false"},
	{"count", what_number, "whole number", "at most so many allocations; default all"},
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

struct format_work {
	struct what what;
	struct format_output output;
};

static void format_work_free(void *work)
{
	struct format_work *w = work;

	format_output_done(&w->output);
	what_done(&w->what);
	free(w);
}

/* The parameters are read at the first step. */
static int begin(struct exchange *x, const struct format *format)
{
	struct format_work *w = calloc(1, sizeof(*w));
	struct what *what;
	int r;

	if (!w)
		return err_set(&x->err, -ENOMEM, "out of memory");
	x->work = w;
	x->work_free = format_work_free;
	what = &w->what;
	what_init(what, x);
	what->value = format->value;
	what->percent_min = -1;
	r = read_parameters(x, format_parameters(format), what, &what->filter);
	w->output = (struct format_output){.format = format,
					   .writing = {.view = x->source->view,
						       .filter = &what->filter,
						       .value = what->value,
						       .value_given = what->value_given,
						       .at_ns = what->at_ns,
						       .weight = what->weight,
						       .incomplete = x->incomplete,
						       .percent_min = what->percent_min,
						       .count = what->count,
						       .tables = what->tables,
						       .with_stacks = what->with_stacks}};
	return r;
}

int format_step(struct exchange *x)
{
	const struct format *format = route_format(x);
	struct format_work *w = x->work;
	int r = w ? 0 : begin(x, format);

	if (r < 0)
		return r;
	w = x->work;
	x->content_type = format->type;
	return format_some(&w->output, STEP_BYTES, &x->out, &x->err);
}
