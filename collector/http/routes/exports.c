/* /data/ID/export/...: files for people and other tools, made by collector/formats. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "collector/answers/results.h"
#include "collector/http/routes/base.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/http/routes/what.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

const struct route_parameter export_parameters[] = {WHAT_VALUE, WHAT_AT, WHAT_WEIGHT, {0}};

static int make_tree(struct exchange *x, struct what *what, struct tree *ret_tree)
{
	int r = what_read(x, export_parameters, what);

	if (!r)
		r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, ret_tree,
			       &x->err);
	what_done(what);
	return r;
}

/* ---- flame graphs ---- */

const struct route_parameter flamegraph_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	{"base", what_base, "ID or ID@TIME",
	 "what has changed since: red has grown, blue has shrunk"},
	{"inverted", what_inverted, "true or false", "roots on top; default false"},
	{"reversed", what_reversed, "true or false",
	 "from the functions that allocated to their callers; default false"},
	{"title", what_title, "text", "default the command"},
	{"width", what_pixels, "10 to 10000", "pixels; default as wide as the window"},
	PASSED_OVER_LOOKS,
	PASSED_OVER_ORDER,
	{0},
};

static int draw(struct exchange *x, const struct what *what, const struct tree *tree,
		const struct tree_change *changes)
{
	const struct process_info *process = recording_process(x->source->recording);
	char subtitle[256];
	struct flamegraph_options options = {
		.title = what->title[0] ? what->title : process->command_line,
		.subtitle = subtitle,
		.incomplete = x->incomplete,
		.weight = what->weight,
		.width = what->width,
		.inverted = what->inverted,
		.reversed = what->reversed,
		.changes = changes,
	};

	snprintf(subtitle, sizeof(subtitle), "%s %s, pid %u on %s%s", value_name(what->value),
		 what->weight == EXPORT_BYTES ? "bytes" : "blocks", process->pid,
		 process->host ? process->host : "?", changes ? "; what has changed" : "");
	x->content_type = "image/svg+xml";
	return export_flamegraph(tree, &options, &x->out, &x->err);
}

static int draw_difference(struct exchange *x, const struct what *what,
			   const struct diff_side *base, const struct diff_side *now)
{
	cleanup(tree_diff_done) struct tree_diff diff = {0};
	int r = query_tree_diff(base, now, &diff, &x->err);

	return r ? r : draw(x, what, &diff.tree, diff.changes);
}

static int draw_tree(struct exchange *x, const struct what *what)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, &tree,
			   &x->err);

	if (!r && what->reversed)
		r = export_reverse(&tree, what->weight);
	return r ? r : draw(x, what, &tree, NULL);
}

int flamegraph_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	int r = what_read(x, flamegraph_parameters, &what);

	if (r < 0)
		return r;
	if (what.base[0] && what.reversed)
		return err_set(&x->err, -EINVAL, "reversed does not go with base");
	return what.base[0] ? base_ask_both(x, flamegraph_parameters, &what, draw_difference)
			    : draw_tree(x, &what);
}

/* ---- as a file for a mail ---- */

const struct route_parameter flame_file_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	{"base", what_base, "ID or ID@TIME",
	 "what has changed since: red has grown, blue has shrunk"},
	{"reversed", what_reversed, "true or false",
	 "from the functions that allocated to their callers; default false"},
	{"title", what_title, "text", "default the command"},
	{0},
};

static int write_file(struct exchange *x, const struct what *what, const struct tree *tree,
		      const struct tree_diff *diff)
{
	const struct process_info *process = recording_process(x->source->recording);
	char subtitle[256];

	snprintf(subtitle, sizeof(subtitle), "%s, pid %u on %s%s", value_name(what->value),
		 process->pid, process->host ? process->host : "?",
		 diff ? "; what has changed" : "");
	x->content_type = "text/html; charset=utf-8";
	return export_flame_file(
		tree,
		&(struct flame_file_options){
			.title = what->title[0] ? what->title : process->command_line,
			.subtitle = subtitle,
			.incomplete = x->incomplete,
			.weight = what->weight,
			.reversed = what->reversed,
			.flame =
				&(struct flame_options){
					.total = diff ? &diff->now_total : &tree->total,
					.base_total = diff ? &diff->base_total : NULL,
					.changes = diff ? diff->changes : NULL,
					.count = FLAME_FILE_NODES,
					.cancelled = &x->cancelled}},
		&x->out, &x->err);
}

static int write_difference(struct exchange *x, const struct what *what,
			    const struct diff_side *base, const struct diff_side *now)
{
	cleanup(tree_diff_done) struct tree_diff diff = {0};
	int r = query_tree_diff(base, now, &diff, &x->err);

	return r ? r : write_file(x, what, &diff.tree, &diff);
}

static int write_tree(struct exchange *x, const struct what *what)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, &tree,
			   &x->err);

	if (!r && what->reversed)
		r = export_reverse(&tree, what->weight);
	return r ? r : write_file(x, what, &tree, NULL);
}

int flame_file_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	int r = what_read(x, flame_file_parameters, &what);

	if (r < 0)
		return r;
	if (what.base[0] && what.reversed)
		return err_set(&x->err, -EINVAL, "reversed does not go with base");
	return what.base[0] ? base_ask_both(x, flame_file_parameters, &what, write_difference)
			    : write_tree(x, &what);
}

/* ---- other trees ---- */

int collapsed_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	struct what p;
	int r = make_tree(x, &p, &tree);

	if (r < 0)
		return r;
	x->content_type = "text/plain; charset=utf-8";
	return export_collapsed(&tree, p.weight, &x->out, &x->err);
}

int speedscope_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	struct what p;
	int r = make_tree(x, &p, &tree);

	if (r < 0)
		return r;
	x->content_type = "application/json";
	return export_speedscope(&tree, recording_process(x->source->recording)->command_line,
				 x->incomplete, p.weight, &x->out, &x->err);
}

#define CALLGRAPH_FUNCTIONS   80
#define CALLGRAPH_PERCENT_MIN 0.5

const struct route_parameter callgraph_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	{"count", what_number, "whole number", "at most so many functions; default 80"},
	{"percent_min", what_percent, "number",
	 "leave out functions with less than this part of the whole; default 0.5"},
	{0},
};

int callgraph_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(what_done) struct what what;
	int r;

	what_init(&what, x);
	what.count = CALLGRAPH_FUNCTIONS;
	what.percent_min = CALLGRAPH_PERCENT_MIN;
	r = read_parameters(x, callgraph_parameters, &what, &what.filter);
	if (!r)
		r = query_tree(x->source->view, &what.filter, what.value, what.at_ns, &tree,
			       &x->err);
	if (r < 0)
		return r;
	x->content_type = "text/plain; charset=utf-8";
	return export_callgraph(
		&tree,
		&(struct callgraph_options){
			.title = recording_process(x->source->recording)->command_line,
			.incomplete = x->incomplete,
			.weight = what.weight,
			.percent_min = what.percent_min,
			.count = what.count < UINT32_MAX ? (uint32_t)what.count : UINT32_MAX},
		&x->out, &x->err);
}

/* ---- heap profiles ---- */

const struct route_parameter heap_parameters[] = {
	{"value", what_value, "leaked, temporary, in-use, peak or allocated",
	 "what stands beside what was allocated; default in-use"},
	WHAT_AT,
	{0},
};

enum heap_format { FORMAT_PPROF, FORMAT_JEMALLOC, FORMAT_GPERFTOOLS, FORMAT_MASSIF };

static int heap_export(struct exchange *x, enum heap_format format)
{
	struct view *view = x->source->view;
	cleanup(what_done) struct what w;
	int r = what_read(x, heap_parameters, &w);

	if (r < 0)
		return r;
	if (!w.value_given)
		w.value = VALUE_IN_USE;
	x->content_type = "text/plain; charset=utf-8";
	switch (format) {
	case FORMAT_PPROF:
		x->content_type = "application/octet-stream";
		return export_pprof(view, &w.filter, w.value, w.at_ns, &x->out, &x->err);
	case FORMAT_JEMALLOC:
		return export_heap_profile(view, &w.filter, w.value, w.at_ns, HEAP_JEMALLOC,
					   &x->out, &x->err);
	case FORMAT_GPERFTOOLS:
		return export_heap_profile(view, &w.filter, w.value, w.at_ns, HEAP_GPERFTOOLS,
					   &x->out, &x->err);
	case FORMAT_MASSIF:
		return export_massif(view, &w.filter, !w.value_given, w.value, w.at_ns, &x->out,
				     &x->err);
	}
	return -EINVAL;
}

int pprof_step(struct exchange *x)
{
	return heap_export(x, FORMAT_PPROF);
}

int jemalloc_step(struct exchange *x)
{
	return heap_export(x, FORMAT_JEMALLOC);
}

int gperftools_step(struct exchange *x)
{
	return heap_export(x, FORMAT_GPERFTOOLS);
}

int massif_step(struct exchange *x)
{
	return heap_export(x, FORMAT_MASSIF);
}

/* ---- over time ---- */

const struct route_parameter graph_parameters[] = {
	{"start", what_moment, "time",
	 "the part of the recording that is shown begins here; default its start"},
	{"end", what_moment, "time", "and ends here; default its end"},
	{"width", what_pixels, "10 to 10000", "pixels; default 1024"},
	{"height", what_pixels, "10 to 10000", "pixels; default 768"},
	WHAT_BANDS,
	WHAT_WEIGHT,
	{0},
};

int graph_step(struct exchange *x)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	cleanup(series_done) struct series_list series = {.count = 0};
	cleanup(what_done) struct what what;
	int r = what_read(x, graph_parameters, &what);

	if (!r)
		r = what_over_time(
			x, &what,
			&(struct timeline_question){.from_ns = what.start_ns,
						    .to_ns = what.end_ns,
						    .buckets = what.width ? what.width : 1000},
			&timeline, &series);
	if (r < 0)
		return r;
	x->content_type = "image/svg+xml";
	return export_graph(&timeline,
			    &(struct graph_options){.incomplete = x->incomplete,
						    .weight = what.weight,
						    .width = what.width,
						    .height = what.height,
						    .series = series.count ? &series : NULL},
			    &x->out, &x->err);
}

/* ---- allocations, and frees in order: the value chooses among them ---- */

#define STEP_BYTES (128u << 10)

const struct route_parameter events_parameters[] = {
	WHAT_VALUE, WHAT_AT, PASSED_OVER_LOOKS, PASSED_OVER_ORDER, {0}};

struct events_export {
	struct what what;
	struct heaptrack_export *heaptrack;
	struct replay_export *replay;
	struct rows_export *rows;
};

static void events_export_free(void *work)
{
	struct events_export *e = work;

	heaptrack_export_free(e->heaptrack);
	replay_export_free(e->replay);
	rows_export_free(e->rows);
	what_done(&e->what);
	free(e);
}

/* The parameters are read at the first step. */
static int begin_events(struct exchange *x, const struct route_parameter *table,
			struct events_export **ret_export)
{
	struct events_export *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return err_set(&x->err, -ENOMEM, "out of memory");
	x->work = e;
	x->work_free = events_export_free;
	*ret_export = e;
	r = what_read(x, table, &e->what);
	return r ? r
		 : filter_narrow(&e->what.filter, x->source->view, e->what.value, e->what.at_ns,
				 &x->err);
}

int heaptrack_step(struct exchange *x)
{
	struct events_export *e = x->work;
	int r = e ? 0 : begin_events(x, events_parameters, &e);

	if (!r && !e->heaptrack)
		r = heaptrack_export_new(x->source->view, &e->what.filter, &e->heaptrack, &x->err);
	x->content_type = "text/plain; charset=utf-8";
	return r ? r : heaptrack_export_some(e->heaptrack, STEP_BYTES, &x->out, &x->err);
}

int replay_step(struct exchange *x)
{
	struct events_export *e = x->work;
	int r = e ? 0 : begin_events(x, events_parameters, &e);

	if (!r && !e->replay)
		r = replay_export_new(x->source->view, &e->what.filter, &e->replay, &x->err);
	x->content_type = "application/octet-stream";
	return r ? r : replay_export_some(e->replay, STEP_BYTES, &x->out, &x->err);
}

const struct route_parameter rows_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	{"table", what_table, "allocations or backtraces",
	 "only these lines; default allocations in CSV, both in JSON"},
	{"with_stacks", what_with_stacks, "true or false",
	 "backtraces in each line of an allocation, not their numbers; default false"},
	{"count", what_number, "whole number", "at most so many allocations; default all"},
	{0},
};

static int rows_step(struct exchange *x, enum rows_format format, const char *type)
{
	struct events_export *e = x->work;
	int r = e ? 0 : begin_events(x, rows_parameters, &e);

	if (!r && !e->rows)
		r = rows_export_new(x->source->view, &e->what.filter,
				    &(struct rows_options){.format = format,
							   .tables = e->what.tables,
							   .with_stacks = e->what.with_stacks,
							   .count = e->what.count},
				    &e->rows, &x->err);
	x->content_type = type;
	return r ? r : rows_export_some(e->rows, STEP_BYTES, &x->out, &x->err);
}

int csv_step(struct exchange *x)
{
	return rows_step(x, ROWS_AS_CSV, "text/csv; charset=utf-8");
}

int json_rows_step(struct exchange *x)
{
	return rows_step(x, ROWS_AS_JSON, "application/x-ndjson");
}
