/* /data/ID/export/flamegraph, flamegraph.html, graph: pictures for people. Files for other tools
 * are in formats.c. */
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

static int exports_draw(struct exchange *x, const struct what *what, const struct tree *tree,
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

	return r ? r : exports_draw(x, what, &diff.tree, diff.changes);
}

static int draw_tree(struct exchange *x, const struct what *what)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, &tree,
			   &x->err);

	if (!r && what->reversed)
		r = export_reverse(&tree, what->weight);
	return r ? r : exports_draw(x, what, &tree, NULL);
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

static int exports_write_file(struct exchange *x, const struct what *what, const struct tree *tree,
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

	return r ? r : exports_write_file(x, what, &diff.tree, &diff);
}

static int write_tree(struct exchange *x, const struct what *what)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, &tree,
			   &x->err);

	if (!r && what->reversed)
		r = export_reverse(&tree, what->weight);
	return r ? r : exports_write_file(x, what, &tree, NULL);
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
