/* collector tree: shows allocations by frame, from main down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/terminal.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/answers/walk.h"

#include "base/ban.h"

#define PERCENT_MIN 1

static int read_percent(const struct question *q, const char *text, double *ret_percent)
{
	char *end;

	*ret_percent = PERCENT_MIN;
	if (!text)
		return EXIT_DONE;
	*ret_percent = strtod(text, &end);
	if (*end == '%')
		end++;
	if (end == text || *end || !(*ret_percent >= 0 && *ret_percent <= 100))
		return command_usage_error(
			q->command, "--percent-min takes a number from 0 to 100, not '%s'", text);
	return EXIT_DONE;
}

struct told_tree {
	struct tree tree;
	struct tree_node root;
	struct ascii_tree_options options;
};

struct told_frame {
	uint32_t depth;
	struct tree_node n;
};

#define ANSWER_OF struct told_frame
static const struct answer_field frame_fields[] = {
	ROW("depth", depth, NULL, "1: the outermost frame"),
	ROW("function", n.function, NULL, ""),
	ROW("module", n.module, NULL, "path of the program or library"),
	ROW("bytes", n.bytes, "bytes", "bytes in the frame and below it"),
	ROW("blocks", n.blocks, "blocks", "blocks in the frame and below it"),
	ROW("self_bytes", n.self_bytes, "bytes", "bytes of the frame alone"),
	ROW("self_blocks", n.self_blocks, "blocks", "blocks of the frame alone"),
	{0},
};
#undef ANSWER_OF
static const struct answer frame_answer = {"tree_frame", frame_fields};

/* Writes one flat row per node, with its depth. Many JSON readers refuse deeply nested objects. */
static int write_frames(struct json *json, const struct answer_field *field, const void *object,
			const struct answer_context *context)
{
	const struct tree *tree = &((const struct told_tree *)object)->tree;
	struct walk walk;
	uint32_t node;
	int r = walk_init(&walk, tree);

	(void)context;
	json_array(json, field->name);
	while (!r && (node = walk_next(&walk)))
		json_object_of(json, NULL, &frame_answer,
			       &(struct told_frame){walk.depth, tree->nodes[node]}, NULL);
	walk_done(&walk);
	json_end(json, ']');
	return r;
}

#define ANSWER_OF struct told_tree
static const struct answer_field tree_fields[] = {
	ROW("bytes", root.bytes, "bytes", "bytes of all frames"),
	ROW("blocks", root.blocks, "blocks", "blocks of all frames"),
	ROW_WRITTEN("frames", ANSWER_OBJECT, NULL, "frames; parents come before their children",
		    write_frames, .shape = ANSWER_LIST, .of = &frame_answer),
	{0},
};
#undef ANSWER_OF
static const struct answer tree_answer = {"tree", tree_fields};

static int tree_print(struct question *q)
{
	const struct told_tree *told = q->result;
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	int r = export_ascii_tree(&told->tree, &told->options, &out, &err);

	if (r < 0)
		return question_failed(q, r, &err);
	header_print(q);
	if (!matches_print(q, told->root.blocks))
		return EXIT_DONE;
	putchar('\n');
	terminal_line(STYLE_DIM, "     %      BYTES     BLOCKS  FRAME", 0);
	fflush(stdout);
	r = output_write(q->command, "-", false, &out);
	if (!r)
		hidden_print(q, 0);
	return r;
}

static int tree_ask(struct question *q, struct err_text *err)
{
	struct told_tree *told = q->result;
	int r = output_weight(q->command, q->options->weight, &told->options.weight);

	if (!r)
		r = read_percent(q, q->options->percent_min, &told->options.percent_min);
	if (!r)
		r = query_tree(q->view, &q->filter, q->value, q->at_ns, &told->tree, err);
	if (r)
		return r;
	terminal_name_ways(&told->options.width, &told->options.short_names);
	told->root = told->tree.nodes[0];
	return 0;
}

static void told_tree_done(void *result)
{
	tree_done(&((struct told_tree *)result)->tree);
}

static const struct question_kind tree_question = {
	.value = VALUE_ALLOCATED,
	.tells_value = true,
	.tells_hidden = true,
	ASKED(struct told_tree, tree_ask, tree_print, &tree_answer, told_tree_done),
};

static const struct option tree_table[] = {
	OPTION_TEXT(struct question_options, percent_min, "percent-min", "N",
		    "leave out frames with less than this part of the whole (1)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "part of the bytes (the default) or blocks"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, tree_table},
	VALUE_GROUPS,
};

const struct command command_tree = {
	.name = "tree",
	.summary = "allocations by frame, from main down",
	.usage = "[OPTION...] [STREAM]",
	.about = "A line a frame, with what was allocated in and below it. Only frames with\n"
		 "siblings are indented; a chain of calls goes straight down.\n",
	.examples = "  collector tree last --value leaked\n"
		    "  collector tree last --at 50% --percent-min 5\n",
	.groups = groups,
	.defaults = &question_defaults,
	ASKS(tree_question),
};
