/* /data/ID/dynamic_constants, /dynamic_statics and their trees: what the initialisers of C++'s
 * static objects allocated and never freed. They run before main or when a library is loaded.
 * Allocations are grouped by the line of the object's definition, which is where the initialiser's
 * frame is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturated.h"
#include "proto/stack_columns.h"
#include "collector/formats/write/export.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* The initialisers of gcc and clang, and the function that calls them in both. */
static const char *const initialisers[] = {"__static_initialization_and_destruction_0",
					   "__cxx_global_var_init", "_GLOBAL__sub_I_"};
#define INITIALISERS                                                                               \
	"^(__static_initialization_and_destruction_0|__cxx_global_var_init|_GLOBAL__sub_I_)"

/* Narrows the request's filters to leaked blocks of initialisers. */
static int narrow(struct asking *a)
{
	struct filter *filter = &a->values.filter;

	if (filter->function_regex)
		return asking_fault(a, "function_regex",
				    err_set(&a->x->err, -EINVAL,
					    "function_regex is not taken here: the answer is about "
					    "functions that initialise"));
	return filter_set(filter, a->view, "function_regex", INITIALISERS, &a->x->err);
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

/* Finds the source line of the innermost initialiser in the backtrace of `node`. */
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
	ROW("count", blocks, "blocks", "blocks that initialisers left"),
	ROW("size", bytes, "bytes", "bytes that initialisers left"),
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
static const struct answer dynamic_answer = {"dynamic", dynamic_fields};

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
}

static int find_lines(struct asking *a, const struct groups *groups, struct line **ret_lines)
{
	struct line *lines = calloc(groups->count + 1, sizeof(*lines));

	if (!lines)
		return err_set(&a->x->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < groups->count; i++) {
		find_line(a->view, groups->list[i].node, &lines[i]);
		lines[i].usage = groups->list[i].value;
	}
	qsort(lines, groups->count, sizeof(*lines), by_place);
	*ret_lines = lines;
	return 0;
}

static int dynamic_write(struct asking *a)
{
	cleanup(groups_done) struct groups groups = {0};
	cleanup(cleanup_free) struct line *lines = NULL;
	int r = narrow(a);

	if (!r)
		r = query_groups(a->view, &a->values.filter, GROUP_BY_BACKTRACE, VALUE_LEAKED,
				 NO_TIME, &groups, &a->x->err);
	if (!r)
		r = find_lines(a, &groups, &lines);
	if (!r)
		write_files(&a->json, lines, groups.count);
	return r;
}

static int dynamic_tree_write(struct asking *a)
{
	cleanup(tree_done) struct tree tree = {0};
	int r = narrow(a);

	if (!r)
		r = query_tree(a->view, &a->values.filter, VALUE_LEAKED, NO_TIME, &tree,
			       &a->x->err);
	return r ? r
		 : export_ascii_tree(
			   &tree,
			   &(struct ascii_tree_options){.incomplete = a->x->incomplete,
							.weight = a->values.weight,
							.percent_min = a->values.percent_min},
			   &a->x->out, &a->x->err);
}

static const struct route_parameter no_more[] = {{0}};
static const struct route_parameter tree_parameters[] = {
	REQUEST_WEIGHT, REQUEST_PERCENT("frames", "0"), {0}};

#define ROUTE_OF_LINES(label, meaning)                                                             \
	{                                                                                          \
		.path = label, .about = meaning,                                                   \
		.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST, .parameters = no_more,          \
		.answer = &dynamic_answer, .write = dynamic_write                                  \
	}
#define ROUTE_OF_TREE(label, meaning)                                                              \
	{                                                                                          \
		.path = label, .about = meaning, .content_type = "text/plain; charset=utf-8",      \
		.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST, .parameters = tree_parameters,  \
		.write = dynamic_tree_write                                                        \
	}
const struct route dynamic_constants_route =
	ROUTE_OF_LINES("dynamic_constants",
		       "what initialisers of static objects have left in use, by source line");
const struct route dynamic_statics_route =
	ROUTE_OF_LINES("dynamic_statics", "the same as dynamic_constants");
const struct route dynamic_constants_tree_route = ROUTE_OF_TREE(
	"dynamic_constants_ascii_tree", "dynamic_constants as a tree of frames, as text");
const struct route dynamic_statics_tree_route =
	ROUTE_OF_TREE("dynamic_statics_ascii_tree", "the same as dynamic_constants_ascii_tree");
