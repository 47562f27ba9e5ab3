/* /data/ID/export/...: files for people and other tools, made by collector/export. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/export/export.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"
#include "collector/http/values.h"
#include "collector/http/what.h"
#include "collector/query/query.h"

#include "base/ban.h"

const struct route_parameter export_parameters[] = {WHAT_VALUE, WHAT_AT, WHAT_WEIGHT, {0}};

static int make_tree(struct exchange *x, struct what *what, struct tree *ret_tree)
{
	int r = what_read(x, export_parameters, what);

	if (!r)
		r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, ret_tree, &x->err);
	what_done(what);
	return r;
}

int flamegraph_step(struct exchange *x)
{
	const struct process_info *process = recording_process(x->source->recording);
	cleanup(tree_done) struct tree tree = {0};
	struct what p;
	char subtitle[256];
	struct flamegraph_options options = {.title = process->command_line, .subtitle = subtitle};
	int r = make_tree(x, &p, &tree);

	if (r < 0)
		return r;
	options.weight = p.weight;
	snprintf(subtitle, sizeof(subtitle), "%s %s, pid %u on %s", value_name(p.value),
		 p.weight == EXPORT_BYTES ? "bytes" : "blocks", process->pid,
		 process->host ? process->host : "?");
	x->content_type = "image/svg+xml";
	return export_flamegraph(&tree, &options, &x->out, &x->err);
}

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

/* ---- over time ---- */

const struct route_parameter graph_parameters[] = {
	{"start", what_moment, "time", "the part of the recording that is shown begins here; default its start"},
	{"end", what_moment, "time", "and ends here; default its end"},
	{"width", what_pixels, "10 to 10000", "pixels; default 1024"},
	{"height", what_pixels, "10 to 10000", "pixels; default 768"},
	WHAT_WEIGHT,
	{0},
};

int graph_step(struct exchange *x)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	cleanup(what_done) struct what what;
	int r = what_read(x, graph_parameters, &what);

	if (!r)
		r = query_timeline(x->source->view, &what.filter,
				   &(struct timeline_question){.from_ns = what.start_ns,
							       .to_ns = what.end_ns,
							       .buckets = what.width ? what.width : 1000},
				   &timeline, &x->err);
	if (r < 0)
		return r;
	x->content_type = "image/svg+xml";
	return export_graph(&timeline,
			    &(struct graph_options){
				    .weight = what.weight, .width = what.width, .height = what.height},
			    &x->out, &x->err);
}

/* ---- allocations and frees in order ---- */

#define STEP_BYTES (128u << 10)

const struct route_parameter events_parameters[] = {{0}};

struct events_export {
	struct what what;
	struct heaptrack_export *heaptrack;
	struct replay_export *replay;
};

static void events_export_free(void *work)
{
	struct events_export *e = work;

	heaptrack_export_free(e->heaptrack);
	replay_export_free(e->replay);
	what_done(&e->what);
	free(e);
}

/* The parameters are read at the first step. */
static int begin_events(struct exchange *x, struct events_export **ret_export)
{
	struct events_export *e = calloc(1, sizeof(*e));

	if (!e)
		return err_set(&x->err, -ENOMEM, "out of memory");
	x->work = e;
	x->work_free = events_export_free;
	*ret_export = e;
	return what_read(x, events_parameters, &e->what);
}

int heaptrack_step(struct exchange *x)
{
	struct events_export *e = x->work;
	int r = e ? 0 : begin_events(x, &e);

	if (!r && !e->heaptrack)
		r = heaptrack_export_new(x->source->view, &e->what.filter, &e->heaptrack, &x->err);
	x->content_type = "text/plain; charset=utf-8";
	return r ? r : heaptrack_export_some(e->heaptrack, STEP_BYTES, &x->out, &x->err);
}

int replay_step(struct exchange *x)
{
	struct events_export *e = x->work;
	int r = e ? 0 : begin_events(x, &e);

	if (!r && !e->replay)
		r = replay_export_new(x->source->view, &e->what.filter, &e->replay, &x->err);
	x->content_type = "application/octet-stream";
	return r ? r : replay_export_some(e->replay, STEP_BYTES, &x->out, &x->err);
}
