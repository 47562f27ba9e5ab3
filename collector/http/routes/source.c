/* /data/ID/source: the text of a source file, and what each of its lines allocated or called. Only
 * files that the recorded program's debug information names are read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proto/stack_columns.h"
#include "collector/http/routes/asking.h"
#include "collector/query/hidden.h"
#include "collector/http/routes/source_files.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct line_sum {
	uint32_t line;
	uint64_t bytes, blocks, self_bytes, self_blocks;
	size_t counted; /* last backtrace counted: one that passes a line twice counts once */
};

struct sums {
	struct line_sum *list; /* by line; 0: frames without a line */
	uint32_t capacity;
	bool named; /* some frame of the recording is in the file */
	struct buf text;
};

static void sums_done(void *result)
{
	struct sums *sums = result;

	free(sums->list);
	buf_done(&sums->text);
}

static int source_sum_of(struct sums *sums, uint32_t line, struct line_sum **ret_sum)
{
	int r = line < SOURCE_BYTES_MAX ? array_reserve(&sums->list, &sums->capacity,
							(size_t)line + 1, sizeof(*sums->list))
					: -ERANGE;

	if (r)
		return r;
	*ret_sum = &sums->list[line];
	(*ret_sum)->line = line;
	return 0;
}

static int source_add(struct sums *sums, uint32_t line, const struct usage *value, size_t backtrace,
		      bool self)
{
	struct line_sum *sum;
	int r = source_sum_of(sums, line, &sum);

	if (r)
		return r == -ERANGE ? 0 : r;
	if (self) {
		sum->self_bytes += value->bytes;
		sum->self_blocks += value->blocks;
	}
	if (sum->counted == backtrace)
		return 0;
	sum->counted = backtrace;
	sum->bytes += value->bytes;
	sum->blocks += value->blocks;
	return 0;
}

/* Adds all frames of a backtrace, innermost first. The allocation belongs to the first frame that
 * does more than pass it on. */
static int add_backtrace(struct asking *a, const struct group *g, size_t number, struct sums *sums)
{
	const char *file = a->values.file;
	struct view *view = a->view;
	const struct stack_node *node;
	bool self = true;
	int r = 0;

	for (uint32_t at = g->node; at && !r; at = node->parent) {
		uint32_t count = view_frame_count(view, at);

		node = recording_node(a->x->source->recording, at);
		if (!node)
			break;
		for (uint32_t i = 0; i < count && !r; i++) {
			struct view_frame frame = view_frame(view, at, i);
			bool hidden = view_frame_hidden(&frame, a->values.filter.hide);

			if (frame.file && !strcmp(frame.file, file)) {
				sums->named = true;
				r = source_add(sums, frame.line, &g->value, number,
					       self && !hidden);
			}
			self &= hidden;
		}
	}
	return r;
}

static int sum_lines(struct asking *a, struct sums *sums)
{
	struct groups groups = {0};
	int r = query_groups(a->view, &a->values.filter, GROUP_BY_BACKTRACE, a->values.value,
			     a->values.at_ns, &groups, &a->x->err);

	for (size_t i = 0; !r && i < groups.count; i++)
		r = a->x->cancelled ? -ECANCELED : add_backtrace(a, &groups.list[i], i + 1, sums);
	groups_done(&groups);
	return r;
}

/* Tells whether any frame of the recording is in the file, regardless of the filters. */
static bool is_named(struct exchange *x, const char *file)
{
	struct view *view = x->source->view;

	for (uint32_t node = recording_nodes(x->source->recording); node && !x->cancelled; node--)
		for (uint32_t i = view_frame_count(view, node); i-- > 0;) {
			struct view_frame frame = view_frame(view, node, i);

			if (frame.file && !strcmp(frame.file, file))
				return true;
		}
	return false;
}

static int source_write_file(struct json *json, const struct answer_field *field,
			     const void *object, const struct answer_context *context)
{
	(void)object;
	json_string(json, field->name, ((const struct asking *)context->asked)->values.file);
	return 0;
}

static int write_lines(struct json *json, const struct answer_field *field, const void *object,
		       const struct answer_context *context)
{
	const struct buf *text = &((const struct sums *)object)->text;
	const char *at = (const char *)text->data, *end = at + text->length;

	(void)context;
	json_array(json, field->name);
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *last;

		stop = stop ? stop : end;
		last = stop > at && stop[-1] == '\r' && stop < end ? stop - 1 : stop;
		json_text(json, NULL, at, strnlen(at, (size_t)(last - at)));
		at = stop + 1;
	}
	json_end(json, ']');
	return 0;
}

#define ANSWER_OF struct line_sum
static const struct answer_field sum_fields[] = {
	ROW("line", line, NULL, "number of the line, from 1"),
	ROW("bytes", bytes, "bytes",
	    "bytes of allocations whose backtrace passes through the line"),
	ROW("blocks", blocks, "blocks", "blocks whose backtrace passes through the line"),
	ROW("self_bytes", self_bytes, "bytes", "bytes of those that the line itself allocated"),
	ROW("self_blocks", self_blocks, "blocks", "those blocks that the line itself allocated"),
	{0},
};
#undef ANSWER_OF
static const struct answer sum_answer = {"line_sum", sum_fields};

static int write_sums(struct json *json, const struct answer_field *field, const void *object,
		      const struct answer_context *context)
{
	const struct sums *sums = object;

	json_array(json, field->name);
	for (size_t i = 0; i < sums->capacity; i++)
		if (sums->list[i].line && sums->list[i].blocks)
			json_object_of(json, NULL, &sum_answer, &sums->list[i], context);
	json_end(json, ']');
	return 0;
}

static const struct answer_field source_fields[] = {
	ROW_WRITTEN("file", ANSWER_TEXT, NULL, "path of the file, as it was asked for",
		    source_write_file),
	ROW_WRITTEN("lines", ANSWER_TEXT, NULL, "text of the file", write_lines,
		    .shape = ANSWER_LIST),
	ROW_WRITTEN("sums", ANSWER_OBJECT, NULL, "sums of the lines that have any", write_sums,
		    .of = &sum_answer, .shape = ANSWER_LIST),
	{0},
};
static const struct answer source_answer = {"source", source_fields};

static int source_ask(struct asking *a)
{
	struct sums *sums = a->result;
	const char *file = a->values.file;
	int r;

	if (!file)
		return err_set(&a->x->err, -EINVAL, "file says which one: `source` of a frame");
	r = sum_lines(a, sums);
	if (!r && !sums->named && !is_named(a->x, file))
		return err_set(&a->x->err, -ENOENT,
			       "no line of the recording is in a file of that name");
	return r ? r
		 : source_file_read(sources_folders(a->x->sources), file, &sums->text, &a->x->err);
}

const struct route source_route = {
	.path = "source",
	.about = "the text of a source file, and what was allocated through each of its lines",
	.flags = ROUTE_OF_RECORDING | ROUTE_NEEDS_TOKEN,
	.parameters =
		(const struct route_parameter[]){
			REQUEST("file", PARAMETER_TEXT, file, "PATH",
				"path of the source file as the debug information has it, like "
				"`source` of a frame"),
			REQUEST_VALUE,
			REQUEST_AT,
			{0}},
	.answer = &source_answer,
	ROUTE_ASKS(struct sums, source_ask, sums_done),
};
