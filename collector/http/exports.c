/* /data/ID/export/...: files for people and other tools, made by collector/export. */
#include <errno.h>
#include <stdio.h>
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
