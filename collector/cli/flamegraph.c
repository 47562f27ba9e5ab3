/* collector flamegraph: a picture for the browser. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/output.h"
#include "collector/cli/question.h"
#include "collector/export/export.h"
#include "collector/store/store.h"

#include "base/ban.h"

static int draw(struct question *q, enum export_weight weight, const struct tree *tree,
		struct buf *out, struct err_text *err)
{
	const struct process_info *p = recording_process(q->recording);
	char subtitle[256], total[32], blocks[32];
	struct flamegraph_options options = {
		.title = p->command_line, .subtitle = subtitle, .weight = weight};

	snprintf(subtitle, sizeof(subtitle), "%s: %s in %s blocks; pid %u on %.100s%s",
		 value_name(q->value), format_size(total, (double)tree->nodes[0].bytes),
		 format_count(blocks, tree->nodes[0].blocks), p->pid,
		 p->host && p->host[0] ? p->host : "?",
		 q->sampled ? "; estimated from samples" : "");
	return export_flamegraph(tree, &options, out, err);
}

static int answer(struct question *q, const struct question_options *o)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(buf_done) struct buf out = {0};
	enum export_weight weight;
	struct err_text err = {0};
	char name[160], suffix[32];
	int r, status = output_weight(q->command, o->weight, &weight);

	if (status)
		return status;
	r = query_tree(q->view, &q->filter, q->value, q->at_ns, &tree, &err);
	if (!r)
		r = draw(q, weight, &tree, &out, &err);
	if (r < 0)
		return question_failed(q, r, &err);
	snprintf(suffix, sizeof(suffix), "%s.svg", value_name(q->value));
	question_file_name(q, suffix, name, sizeof(name));
	return output_write(q->command, o->output ? o->output : name, &out);
}

static int run(struct command_call *call)
{
	return question_run(call, VALUE_ALLOCATED, answer);
}

static const struct option flamegraph_table[] = {
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "write it here; - is standard output (default: heapcast_PROGRAM_ID_VALUE.svg)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "width of a frame: bytes (the default) or blocks"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, flamegraph_table},
	{"What to look at", value_table},
	{"Also", question_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_flamegraph = {
	.name = "flamegraph",
	.summary = "draw a flame graph (SVG, for the browser)",
	.usage = "[OPTION...] [STREAM]",
	.about = "Writes one SVG file: open it in a browser; click a frame to zoom, Ctrl-F "
		 "searches.\n",
	.examples = "  collector flamegraph last --value leaked\n"
		    "  collector flamegraph last --at 50% --output half.svg\n",
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run,
};
