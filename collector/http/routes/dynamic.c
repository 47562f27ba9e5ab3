/* /data/ID/dynamic_constants, /dynamic_statics and their trees: what the initialisers of C++'s
 * static objects allocated, before main or when a library was loaded, and never freed. Grouped by
 * the line of the object's definition, which is where the initialiser's frame is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturated.h"
#include "proto/columns.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/recording.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"

#include "base/ban.h"

/* gcc's initialiser, clang's, and the function that calls them in both. */
static const char *const initialisers[] = {"__static_initialization_and_destruction_0",
					   "__cxx_global_var_init", "_GLOBAL__sub_I_"};
#define INITIALISERS                                                                               \
	"^(__static_initialization_and_destruction_0|__cxx_global_var_init|_GLOBAL__sub_I_)"

const struct route_parameter dynamic_parameters[] = {{0}};
const struct route_parameter dynamic_tree_parameters[] = {
	WHAT_WEIGHT,
	{"percent_min", what_percent, "number",
	 "leave out frames with less than this part of the whole; default 0"},
	{0},
};

/* Reads the request's filters, narrowed to what initialisers leaked. */
static int read_filters(struct exchange *x, const struct route_parameter *table, struct what *what)
{
	int r = what_read(x, table, what);

	if (!r && what->filter.function_regex) {
		snprintf(x->parameter, sizeof(x->parameter), "function_regex");
		return err_set(&x->err, -EINVAL,
			       "function_regex is not taken here: the answer is about functions "
			       "that initialise");
	}
	if (!r)
		r = filter_set(&what->filter, x->source->view, "function_regex", INITIALISERS,
			       &x->err);
	what->value = VALUE_LEAKED;
	return r;
}

struct line {
	const char *file; /* "": unknown */
	uint32_t line;
	struct usage usage;
};

static bool is_initialiser(const struct view_frame *frame)
{
	for (size_t i = 0; frame->function && i < sizeof(initialisers) / sizeof(initialisers[0]);
	     i++)
		if (!strncmp(frame->function, initialisers[i], strlen(initialisers[i])))
			return true;
	return false;
}

/* Finds the place of the innermost initialiser in the backtrace of `node`. */
static void find_line(struct view *view, uint32_t node, struct line *ret_line)
{
	ret_line->file = "";
	ret_line->line = 0;
	while (node) {
		const struct stack_node *at = recording_node(view_recording(view), node);

		for (uint32_t i = 0; i < view_frame_count(view, node); i++) {
			struct view_frame frame = view_frame(view, node, i);

			if (!is_initialiser(&frame))
				continue;
			ret_line->file = frame.file ? frame.file : "";
			ret_line->line = frame.line;
			return;
		}
		node = at && at->parent < node ? at->parent : 0;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

struct sums {
	uint64_t blocks, bytes;
};

#define ANSWER_OF struct sums
static const struct answer_field line_fields[] = {
	ROW("count", blocks, "blocks", "that were left"),
	ROW("size", bytes, "bytes", "that were left"),
	{0},
};
#undef ANSWER_OF
static const struct answer line_answer = {"static_line", line_fields};

static const struct answer_field file_fields[] = {
	ROWS_BY_HAND(line_answer),
	BY_HAND("per_line", ANSWER_OBJECT, NULL, "by the number of the line; 0: unknown",
		.shape = ANSWER_NAMED, .of = &line_answer),
	{0},
};
static const struct answer file_answer = {"static_file", file_fields};

static const struct answer_field dynamic_fields[] = {
	ROWS_BY_HAND(line_answer),
	BY_HAND("per_file", ANSWER_OBJECT, NULL, "by the path of the source file; ?: unknown",
		.shape = ANSWER_NAMED, .of = &file_answer),
	{0},
};
const struct answer dynamic_answer = {"dynamic", dynamic_fields};

static void write_sums(struct json *json, const struct line *lines, size_t count)
{
	struct sums sums = {0};

	for (size_t i = 0; i < count; i++) {
		add_most(&sums.blocks, lines[i].usage.blocks);
		add_most(&sums.bytes, lines[i].usage.bytes);
	}
	json_members(json, &line_answer, &sums, NULL);
}

/* Writes the lines of one file, sorted. */
static void dynamic_write_file(struct json *json, const struct line *lines, size_t count)
{
	json_object(json, lines->file[0] ? lines->file : "?");
	write_sums(json, lines, count);
	json_object(json, "per_line");
	for (size_t from = 0, to; from < count; from = to) {
		char number[16];

		for (to = from + 1; to < count && lines[to].line == lines[from].line; to++)
			;
		snprintf(number, sizeof(number), "%u", lines[from].line);
		json_object(json, number);
		write_sums(json, lines + from, to - from);
		json_end(json, '}');
	}
	json_end(json, '}');
	json_end(json, '}');
}

static void write_files(struct json *json, const struct line *lines, size_t count)
{
	write_sums(json, lines, count);
	json_object(json, "per_file");
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && !strcmp(lines[to].file, lines[from].file); to++)
			;
		dynamic_write_file(json, lines + from, to - from);
	}
	json_end(json, '}');
	json_end(json, '}');
}

int dynamic_step(struct exchange *x)
{
	cleanup(groups_done) struct groups groups = {0};
	cleanup(what_done) struct what what;
	cleanup(cleanup_free) struct line *lines = NULL;
	struct json json;
	int r = read_filters(x, dynamic_parameters, &what);

	if (!r)
		r = query_groups(x->source->view, &what.filter, GROUP_BY_BACKTRACE, VALUE_LEAKED,
				 NO_TIME, &groups, &x->err);
	if (r < 0)
		return r;
	lines = calloc(groups.count + 1, sizeof(*lines));
	if (!lines)
		return err_set(&x->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < groups.count; i++) {
		find_line(x->source->view, groups.list[i].node, &lines[i]);
		lines[i].usage = groups.list[i].value;
	}
	qsort(lines, groups.count, sizeof(*lines), by_place);
	json_answer(&json, x);
	write_files(&json, lines, groups.count);
	return buf_error(&x->out);
}

int dynamic_tree_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(what_done) struct what what;
	int r = read_filters(x, dynamic_tree_parameters, &what);

	if (!r)
		r = query_tree(x->source->view, &what.filter, VALUE_LEAKED, NO_TIME, &tree,
			       &x->err);
	if (r < 0)
		return r;
	x->content_type = "text/plain; charset=utf-8";
	return export_ascii_tree(&tree,
				 &(struct ascii_tree_options){.incomplete = x->incomplete,
							      .weight = what.weight,
							      .percent_min = what.percent_min},
				 &x->out, &x->err);
}
