/* collector flamegraph: draws a flame graph for the browser. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define WIDTH_LEAST 200
#define WIDTH_MOST  10000

struct told_flamegraph {
	struct tree tree;
	struct tree_diff diff; /* with a base */
	enum export_weight weight;
};

static void subtitle(const struct question *q, const struct tree *tree, char *out, size_t size)
{
	const struct process_info *p = &q->recorded.process;
	char total[32], blocks[FORMAT_COUNTED], place[160];

	snprintf(place, sizeof(place), "pid %u on %.100s%s", p->pid,
		 p->host && p->host[0] ? p->host : "?",
		 q->recorded.sampled ? "; estimated from samples" : "");
	if (q->base)
		snprintf(out, size, "%s: %.60s against %.60s; %s", value_name(q->value), q->stream,
			 q->base->stream, place);
	else
		snprintf(out, size, "%s: %s in %s; %s%s", value_name(q->value),
			 format_size(total, (double)tree->nodes[0].bytes),
			 format_counted(blocks, tree->nodes[0].blocks, "block"), place,
			 q->options->reversed ? "; by the function that allocated" : "");
}

/* Formats what is missing, in both recordings if there are two. */
static void incomplete(const struct question *q, char *out, size_t size)
{
	const char *base = q->base ? q->base->recorded.completeness.line : "";

	snprintf(out, size, "%s%s%s%s", *base ? "base: " : "", base, *base ? " new: " : "",
		 q->recorded.completeness.line);
}

static int flamegraph_draw(const struct question *q, struct buf *out, struct err_text *err)
{
	static const atomic_bool never;
	const struct question_options *o = q->options;
	const struct told_flamegraph *f = q->result;
	const struct tree *tree = q->base ? &f->diff.tree : &f->tree;
	char text[384], missing[2 * COMPLETENESS_LINE + 32];
	struct flamegraph_options options = {
		.title = o->title ? o->title : q->recorded.process.command_line,
		.subtitle = text,
		.incomplete = missing,
		.weight = f->weight,
		.width = (uint32_t)o->width,
		.inverted = o->inverted,
		.reversed = o->reversed,
		.changes = q->base ? f->diff.changes : NULL,
	};
	const struct flame_options flame = {
		.total = q->base ? &f->diff.now_total : &tree->total,
		.base_total = q->base ? &f->diff.base_total : NULL,
		.changes = options.changes,
		.count = FLAME_FILE_NODES,
		.cancelled = &never,
	};

	subtitle(q, tree, text, sizeof(text));
	incomplete(q, missing, sizeof(missing));
	if (o->html)
		return export_flame_file(tree,
					 &(struct flame_file_options){.title = options.title,
								      .subtitle = text,
								      .incomplete = missing,
								      .weight = f->weight,
								      .reversed = o->reversed,
								      .flame = &flame},
					 out, err);
	return export_flamegraph(tree, &options, out, err);
}

static int flamegraph_compare(struct question *q, const struct question *b,
			      struct tree_diff *ret_diff, struct err_text *err)
{
	struct diff_renamed renamed[RENAMED_MAX];
	int status = ranking_renamed(q->command, &q->options->map, renamed);

	return status ? status
		      : query_tree_diff(
				&(struct diff_side){b->view, &b->filter, b->value, b->at_ns},
				&(struct diff_side){q->view, &q->filter, q->value, q->at_ns},
				renamed, q->options->map.count, ret_diff, err);
}

static int flamegraph_ask(struct question *q, struct err_text *err)
{
	const struct question *b = q->base;
	struct told_flamegraph *f = q->result;
	int r = output_weight(q->command, q->options->weight, &f->weight);

	if (r)
		return r;
	if (b)
		return flamegraph_compare(q, b, &f->diff, err);
	r = query_tree(q->view, &q->filter, q->value, q->at_ns, &f->tree, err);
	return !r && q->options->reversed ? export_reverse(&f->tree, f->weight) : r;
}

static int flamegraph_print(struct question *q)
{
	const struct question_options *o = q->options;
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	char name[160], suffix[32];
	int r = flamegraph_draw(q, &out, &err);

	if (r < 0)
		return question_failed(q, r, &err);
	if (o->html)
		return output_write(q->command, o->html, o->force, &out);
	snprintf(suffix, sizeof(suffix), "%s%s.svg", value_name(q->value), q->base ? "-diff" : "");
	question_file_name(q, suffix, name, sizeof(name));
	return output_write(q->command, o->output ? o->output : name, o->force, &out);
}

static void flame_done(void *result)
{
	struct told_flamegraph *f = result;

	tree_done(&f->tree);
	tree_diff_done(&f->diff);
}

static int flamegraph_check(const struct command_call *call)
{
	const struct question_options *o = call->options;
	enum export_weight weight;

	if (o->width && (o->width < WIDTH_LEAST || o->width > WIDTH_MOST))
		return command_usage_error(call->command,
					   "--width takes pixels from %d to %d, not %llu",
					   WIDTH_LEAST, WIDTH_MOST, (unsigned long long)o->width);
	if (o->html && (o->output || o->width || o->inverted))
		return command_usage_error(call->command,
					   "--%s is about the SVG: it does not go with --html "
					   "FILE, which is as wide as "
					   "the window and has its roots on top",
					   o->output  ? "output"
					   : o->width ? "width"
						      : "inverted");
	if (o->base && o->reversed)
		return command_usage_error(call->command, "--reversed does not go with --base");
	return output_weight(call->command, o->weight, &weight);
}

static const struct question_kind flamegraph_question = {
	.value = VALUE_ALLOCATED,
	.check = flamegraph_check,
	ASKED(struct told_flamegraph, flamegraph_ask, flamegraph_print, NULL, flame_done),
};

static const struct option flamegraph_table[] = {
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "write it here; - is standard output (default: heapcast_PROGRAM_ID_VALUE.svg)"),
	OPTION_TEXT(
		struct question_options, html, "html", "FILE",
		"write the page's flame graph instead, as one file that needs no collector; - is "
		"standard output"),
	OPTION_FORCE,
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "width of a frame: bytes (the default) or blocks"),
	OPTION_TEXT(struct question_options, base, "base", "STREAM[@TIME]",
		    "what has changed since this one: red has grown, blue has shrunk"),
	OPTION_MAP,
	OPTION_FLAG(struct question_options, inverted, "inverted", "roots on top"),
	OPTION_FLAG(struct question_options, reversed, "reversed",
		    "from the functions that allocated to their callers"),
	OPTION_TEXT(struct question_options, title, "title", "TEXT",
		    "what stands above it (default: the command)"),
	OPTION_NUMBER(struct question_options, width, "width", "PIXELS",
		      "as wide as this (default: as the window)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, flamegraph_table},
	VALUE_GROUPS,
};

const struct command command_flamegraph = {
	.name = "flamegraph",
	.is_file = true,
	.summary = "draw a flame graph (SVG or HTML, for the browser)",
	.usage = "[OPTION...] [STREAM[@TIME]]",
	.about = "Writes one SVG file: open it in a browser; click a frame to zoom, Ctrl-F\n"
		 "searches. --html FILE writes the flame graph of the page, with a table of\n"
		 "functions, and callers and callees of each; it needs no server.\n"
		 "--base shows what has changed, of what was leaked or of --value: a frame is as\n"
		 "wide as it was or is now, whichever is more.\n",
	.examples = "  collector flamegraph last --value leaked\n"
		    "  collector flamegraph last --at 50% --output half.svg\n"
		    "  collector flamegraph last --value leaked --html leaked.html\n"
		    "  collector flamegraph --base last@25% last@75%\n"
		    "  collector flamegraph --base before.heapcast --value peak after.heapcast\n",
	.groups = groups,
	.defaults = &question_defaults,
	ASKS(flamegraph_question),
};
