/* collector tree: shows allocations by frame, from main down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/terminal.h"
#include "collector/formats/write/export.h"
#include "collector/answers/answer.h"
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

struct told_frame {
	uint32_t depth;
	struct tree_node n;
};

#define ANSWER_OF struct told_frame
static const struct answer_field frame_fields[] = {
	ROW("depth", depth, NULL, "1: the outermost"),
	ROW("function", n.function, NULL, ""),
	ROW("module", n.module, NULL, "path of the program or library"),
	ROW("bytes", n.bytes, "bytes", "in and below it"),
	ROW("blocks", n.blocks, "blocks", "in and below it"),
	ROW("self_bytes", n.self_bytes, "bytes", "of it alone"),
	ROW("self_blocks", n.self_blocks, "blocks", "of it alone"),
	{0},
};
#undef ANSWER_OF
static const struct answer frame_answer = {"tree_frame", frame_fields};

/* Writes one flat row a node, with its depth. Nested objects would be deeper than many JSON readers
 * accept. */
static int print_tree_json(const struct question *q, const struct tree *tree)
{
	cleanup(buf_done) struct buf out = {0};
	struct walk walk;
	struct json json;
	uint32_t node;
	int r = walk_init(&walk, tree);

	header_json_begin(&json, &out, q);
	json_string(&json, "value", value_name(q->value));
	json_u64(&json, "bytes", tree->nodes[0].bytes);
	json_u64(&json, "blocks", tree->nodes[0].blocks);
	json_array(&json, "frames");
	while (!r && (node = walk_next(&walk)))
		json_object_of(&json, NULL, &frame_answer,
			       &(struct told_frame){walk.depth, tree->nodes[node]}, NULL);
	walk_done(&walk);
	json_end(&json, ']');
	json_end(&json, '}');
	return r < 0 ? question_failed(q, r, NULL) : output_json(q->command, stdout, &out);
}

static int print_tree(const struct question *q, const struct tree *tree,
		      const struct ascii_tree_options *options)
{
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	int r = export_ascii_tree(tree, options, &out, &err);

	if (r < 0)
		return question_failed(q, r, &err);
	header_print(q);
	putchar('\n');
	terminal_line(STYLE_DIM, "     %      BYTES     BLOCKS  FRAME", 0);
	fflush(stdout);
	return output_write(q->command, "-", &out);
}

static int tree_answer(struct question *q, const struct question_options *o)
{
	cleanup(tree_done) struct tree tree = {0};
	struct ascii_tree_options options = {.width = terminal_width()};
	struct err_text err = {0};
	int r, status = output_weight(q->command, o->weight, &options.weight);

	if (!status)
		status = read_percent(q, o->percent_min, &options.percent_min);
	if (status)
		return status;
	r = query_tree(q->view, &q->filter, q->value, q->at_ns, &tree, &err);
	if (r < 0)
		return question_failed(q, r, &err);
	return o->common.json ? print_tree_json(q, &tree) : print_tree(q, &tree, &options);
}

static int tree_run(struct command_call *call)
{
	return question_run(call, VALUE_ALLOCATED, tree_answer);
}

static const struct option tree_table[] = {
	OPTION_TEXT(struct question_options, percent_min, "percent-min", "N",
		    "leave out frames with less than this part of the whole (1)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "part of the bytes (the default) or blocks"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, tree_table},
	{"What to look at", value_table},
	{"Also", question_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_tree = {
	.name = "tree",
	.summary = "allocations by frame, from main down",
	.usage = "[OPTION...] [STREAM]",
	.about = "A line a frame, with what was allocated in and below it. Only frames with\n"
		 "siblings are indented; a chain of calls goes straight down.\n",
	.examples = "  collector tree last --value leaked\n"
		    "  collector tree last --at 50% --percent-min 5\n",
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = tree_run,
};
