/* /data/ID/source: the text of a source file, and what each of its lines allocated or called. Only
 * files that the debug information of the recorded program names are read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proto/columns.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/routes/source_files.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct line_sum {
	uint32_t line;
	uint64_t bytes, blocks, self_bytes, self_blocks;
	size_t counted; /* the last backtrace that was counted, so that one that passes a line twice
			   counts once */
};

struct sums {
	struct line_sum *list; /* by line; 0: lines that are not known */
	uint32_t capacity;
	bool named; /* a frame of the recording is in the file */
};

const struct route_parameter source_parameters[] = {
	{"file", what_file, "PATH", "as the debug information has it: `source` of a frame"},
	WHAT_VALUE,
	WHAT_AT,
	{0},
};

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

/* Adds all frames of a backtrace, the innermost first. The first frame that does not only pass the
 * allocation on is the one that allocates. */
static int add_backtrace(struct exchange *x, const struct group *g, size_t number, const char *file,
			 struct sums *sums)
{
	struct view *view = x->source->view;
	const struct stack_node *node;
	bool self = true;
	int r = 0;

	for (uint32_t at = g->node; at && !r; at = node->parent) {
		uint32_t count = view_frame_count(view, at);

		node = recording_node(x->source->recording, at);
		if (!node)
			break;
		for (uint32_t i = 0; i < count && !r; i++) {
			struct view_frame frame = view_frame(view, at, i);

			if (frame.file && !strcmp(frame.file, file)) {
				sums->named = true;
				r = source_add(sums, frame.line, &g->value, number,
					       self && !frame.is_allocator);
			}
			self &= frame.is_allocator;
		}
	}
	return r;
}

static int sum_lines(struct exchange *x, const struct what *what, struct sums *sums)
{
	struct groups groups = {0};
	int r = query_groups(x->source->view, &what->filter, GROUP_BY_BACKTRACE, what->value,
			     what->at_ns, &groups, &x->err);

	for (size_t i = 0; !r && i < groups.count; i++)
		r = x->cancelled ? -ECANCELED
				 : add_backtrace(x, &groups.list[i], i + 1, what->file, sums);
	groups_done(&groups);
	return r;
}

/* Tells whether any frame of the recording is in the file, whatever the filters. */
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

static void write_lines(struct json *json, struct buf *text)
{
	char *at = (char *)text->data, *end = at + text->length;

	json_array(json, "lines");
	while (at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop)
			*stop = 0;
		if (stop > at && stop[-1] == '\r')
			stop[-1] = 0;
		json_string(json, NULL, at);
		at = stop ? stop + 1 : end;
	}
	json_end(json, ']');
}

#define ANSWER_OF struct line_sum
static const struct answer_field sum_fields[] = {
	ROW("line", line, NULL, "from 1"),
	ROW("bytes", bytes, "bytes", "that came through it"),
	ROW("blocks", blocks, "blocks", "that came through it"),
	ROW("self_bytes", self_bytes, "bytes", "of them: allocated there"),
	ROW("self_blocks", self_blocks, "blocks", "of them: allocated there"),
	{0},
};
#undef ANSWER_OF
static const struct answer sum_answer = {"line_sum", sum_fields};

static const struct answer_field source_fields[] = {
	BY_HAND("file", ANSWER_TEXT, NULL, "as it was asked for"),
	BY_HAND("lines", ANSWER_TEXT, NULL, "its text", .shape = ANSWER_LIST),
	BY_HAND("sums", ANSWER_OBJECT, NULL, "of lines that have any", .of = &sum_answer,
		.shape = ANSWER_LIST),
	{0},
};
const struct answer source_answer = {"source", source_fields};

static int answer(struct exchange *x, const char *file, const struct sums *sums, struct buf *text)
{
	struct json json;

	json_answer(&json, x);
	json_string(&json, "file", file);
	write_lines(&json, text);
	json_array(&json, "sums");
	for (size_t i = 0; i < sums->capacity; i++) {
		const struct line_sum *s = &sums->list[i];

		if (s->line && s->blocks)
			json_object_of(&json, NULL, &sum_answer, s, NULL);
	}
	json_end(&json, ']');
	json_end(&json, '}');
	return buf_error(&x->out);
}

int source_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	cleanup(buf_done) struct buf text = {0};
	struct sums sums = {0};
	int r = what_read(x, source_parameters, &what);

	if (!r && !what.file)
		r = err_set(&x->err, -EINVAL, "file says which one: `source` of a frame");
	if (!r)
		r = sum_lines(x, &what, &sums);
	if (!r && !sums.named && !is_named(x, what.file))
		r = err_set(&x->err, -ENOENT, "no line of the recording is in a file of that name");
	if (!r)
		r = source_file_read(sources_folders(x->sources), what.file, &text, &x->err);
	buf_byte(&text, 0); /* ends the last line */
	if (!r)
		r = buf_error(&text);
	if (!r) {
		text.length--;
		r = answer(x, what.file, &sums, &text);
	}
	free(sums.list);
	return r;
}
