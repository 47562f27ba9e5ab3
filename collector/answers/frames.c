/* Frames, backtraces and threads of a recording as JSON. See frames.h. */
#include "collector/answers/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct answer_context frames_context(struct view *view, struct err_text *err)
{
	const struct recording *recording = view_recording(view);

	return (struct answer_context){.start_wall_ns = recording_process(recording)->start_wall_ns,
				       .end_ns = recording_end_ns(recording),
				       .count = UINT64_MAX,
				       .view = view,
				       .err = err};
}

struct told_frame {
	struct view_frame frame;
	const char *function, *place;
	uint64_t allocations;
};

#define ANSWER_OF struct told_frame
static const struct answer_field frame_fields[] = {
	ROW_AS("address", frame.address, ANSWER_ADDRESS, "address",
	       "return address; 0 if the frame has none"),
	ROW("count", allocations, "blocks",
	    "blocks of the whole recording whose backtrace passes through this place"),
	ROW("library", frame.module, NULL,
	    "path of the program or library; absent: the code was made at run time",
	    .when = IF_SET),
	ROW("function", function, NULL,
	    "the demangled name, or in brackets what the frame stands for", .when = IF_SET),
	ROW_SHORT("function_short", function),
	ROW("place", place, NULL,
	    "where the function is that nobody can name, \"[library+offset]\"; absent: it has a "
	    "name",
	    .when = IF_SET),
	ROW("raw_function", frame.raw_function, NULL, "the name as it stands in the file",
	    .when = IF_SET),
	ROW("source", frame.file, NULL, "the source file", .when = IF_SET),
	ROW("line", frame.line, NULL, "", .when = IF_SET),
	ROW("column", frame.column, NULL, "", .when = IF_SET),
	ROW("is_inline", frame.is_inline, NULL, "true: inlined into the frame before it"),
	{0},
};
#undef ANSWER_OF
const struct answer frame_answer = {"frame", frame_fields};

static int frames_write(struct json *json, const char *key, struct view *view, uint32_t node,
			uint32_t index, bool strip, struct err_text *err)
{
	struct told_frame told = {.frame = view_frame(view, node, index)};
	cleanup(cleanup_free) char *stripped =
		strip && told.frame.function ? without_template_arguments(told.frame.name) : NULL;
	int r = view_place_allocations(view, node, &told.allocations, err);

	if (r < 0)
		return r;
	/* A pseudo frame has no address, and its name is in brackets. */
	if (told.frame.function || !told.frame.address)
		told.function = stripped ? stripped : told.frame.name;
	else
		told.place = told.frame.name;
	return json_object_of(json, key, &frame_answer, &told, NULL);
}

int json_frame(struct json *json, const char *key, struct view *view, uint32_t node, uint32_t index,
	       struct err_text *err)
{
	return frames_write(json, key, view, node, index, false, err);
}

/* Returns the nodes from the outermost to `node`, or NULL without memory. */
static uint32_t *path_to(const struct recording *recording, uint32_t node, uint32_t *ret_count)
{
	uint32_t count = 0, *path;

	for (uint32_t n = node; n; count++) {
		const struct stack_node *at = recording_node(recording, n);

		n = at && at->parent < n ? at->parent : 0;
	}
	path = calloc((size_t)count + 1, sizeof(*path));
	if (!path)
		return NULL;
	*ret_count = count;
	for (uint32_t n = node; n;) {
		const struct stack_node *at = recording_node(recording, n);

		path[--count] = n;
		n = at && at->parent < n ? at->parent : 0;
	}
	return path;
}

int json_backtrace(struct json *json, const char *key, struct view *view, uint32_t node, bool strip,
		   struct err_text *err)
{
	uint32_t count = 0;
	cleanup(cleanup_free) uint32_t *path = path_to(view_recording(view), node, &count);
	int r = 0;

	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	json_array(json, key);
	for (uint32_t n = 0; n < count; n++)
		for (uint32_t i = view_frame_count(view, path[n]); i-- > 0 && !r;)
			r = frames_write(json, NULL, view, path[n], i, strip, err);
	json_end(json, ']');
	return r;
}

static int json_addresses(struct json *json, const char *key, struct view *view, uint32_t node,
			  struct err_text *err)
{
	uint32_t count = 0;
	cleanup(cleanup_free) uint32_t *path = path_to(view_recording(view), node, &count);

	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	json_array(json, key);
	for (uint32_t n = 0; n < count; n++) {
		char text[24];

		snprintf(text, sizeof(text), "%016" PRIX64, view_frame(view, path[n], 0).address);
		json_string(json, NULL, text);
	}
	json_end(json, ']');
	return 0;
}

static uint32_t number_at(const struct answer_field *field, const void *object)
{
	uint32_t number;

	memcpy(&number, (const char *)object + field->at, sizeof(number));
	return number;
}

int frames_write_backtrace(struct json *json, const struct answer_field *field, const void *object,
			   const struct answer_context *context)
{
	uint32_t node = number_at(field, object);

	return node || field->when == ALWAYS ? json_backtrace(json, field->name, context->view,
							      node, context->strip, context->err)
					     : 0;
}

int frames_write_addresses(struct json *json, const struct answer_field *field, const void *object,
			   const struct answer_context *context)
{
	return json_addresses(json, field->name, context->view, number_at(field, object),
			      context->err);
}

int frames_write_thread(struct json *json, const struct answer_field *field, const void *object,
			const struct answer_context *context)
{
	const struct thread_info *thread =
		recording_thread(view_recording(context->view), number_at(field, object));

	json_u64(json, field->name, thread ? thread->tid : 0);
	return 0;
}
