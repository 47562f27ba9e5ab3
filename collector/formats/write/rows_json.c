/*
 * Writes JSON lines: one object per line, so that a reader can begin before the writer ends, and a
 * truncated file is readable up to its end. A number in a line refers to a line before it:
 *
 *	{"frame_id":1,"name":"main","library":"/bin/app",...}
 *	{"backtrace_id":7,"frames":[3,2,1]}		innermost first
 *	{"id":0,"size":48,...,"backtrace_id":7}		an allocation
 *
 * With stacks, the file has only lines of allocations, and these contain the frames. Addresses are
 * strings, because JavaScript's integers end at 2^53.
 */
#include "collector/columns/row_block.h"
#include "collector/formats/write/rows_parts.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "collector/formats/write/put.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/stack_columns.h"
#include "proto/event.h"

#include "base/ban.h"

static void put_address(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	json_string(json, key, text);
}

static void rows_json_put_frame(struct json *json, uint64_t number, const struct view_frame *frame)
{
	json_object(json, NULL);
	if (number)
		json_u64(json, "frame_id", number);
	json_string(json, "name", frame->name);
	if (frame->function)
		json_string(json, "function", frame->function);
	if (frame->raw_function)
		json_string(json, "raw_function", frame->raw_function);
	if (frame->module)
		json_string(json, "library", frame->module);
	if (frame->file)
		json_string(json, "source", frame->file);
	if (frame->line)
		json_u64(json, "line", frame->line);
	if (frame->column)
		json_u64(json, "column", frame->column);
	if (frame->address)
		put_address(json, "address_s", frame->address);
	if (frame->is_inline)
		json_bool(json, "is_inline", true);
	json_end(json, '}');
}

/* Returns the caller's node, or 0 if there is none. A parent's number is below its child's, so the
 * walk ends. */
static uint32_t rows_json_parent_of(const struct rows_export *e, uint32_t node)
{
	const struct stack_node *n = recording_node(e->recording, node);

	return n && n->parent < node ? n->parent : 0;
}

/* Writes the frames of a backtrace, innermost first. */
static void put_backtrace(struct rows_export *e, struct json *json, uint32_t node)
{
	json_array(json, "backtrace");
	for (; node; node = rows_json_parent_of(e, node)) {
		uint32_t count = view_frame_count(e->view, node);

		for (uint32_t i = 0; i < count; i++) {
			struct view_frame frame = view_frame(e->view, node, i);

			rows_json_put_frame(json, 0, &frame);
		}
	}
	json_end(json, ']');
}

/* Writes the backtrace of an allocation or of its end: the frames, or the number of the
 * backtrace. */
static void rows_json_put_stack(struct rows_export *e, struct json *json, uint32_t node)
{
	if (e->with_stacks)
		put_backtrace(e, json, node);
	else if (node)
		json_u64(json, "backtrace_id", node);
}

static void rows_json_put_thread(struct rows_export *e, struct json *json, uint32_t number)
{
	const struct thread_info *thread = recording_thread(e->recording, number);

	if (!thread)
		return;
	json_u64(json, "thread", thread->tid);
	json_string(json, "thread_name", thread->name);
}

static void put_death(struct rows_export *e, struct json *json, const struct row_block *b,
		      uint32_t i)
{
	json_object(json, "deallocation");
	json_u64(json, "time_ns", b->death_ns[i]);
	json_string(json, "kind", b->death_kind ? event_kind_name(row_death_kind(b, i)) : NULL);
	if (b->death_thread)
		rows_json_put_thread(e, json, b->death_thread[i]);
	if (b->death_stack && b->death_stack[i])
		rows_json_put_stack(e, json, b->death_stack[i]);
	json_end(json, '}');
}

static void put_allocation(struct rows_export *e, const struct row_block *b, uint32_t i,
			   struct buf *out)
{
	struct json json;

	json_init(&json, out);
	json_object(&json, NULL);
	json_u64(&json, "id", b->first_row + i);
	put_address(&json, "address_s", b->address[i]);
	json_u64(&json, "size", b->size[i]);
	if (b->weight)
		json_u64(&json, "weight", b->weight[i]);
	json_string(&json, "kind", event_kind_name(row_kind(b, i)));
	json_u64(&json, "time_ns", b->birth_ns[i]);
	rows_json_put_thread(e, &json, b->thread[i]);
	json_string(&json, "end", block_end_name(b->end[i]));
	rows_json_put_stack(e, &json, b->stack[i]);
	if (b->chain_previous && b->chain_previous[i] != NO_BLOCK)
		json_u64(&json, "reallocated_from", b->chain_previous[i]);
	if (b->chain_next && b->chain_next[i] != NO_BLOCK)
		json_u64(&json, "reallocated_to", b->chain_next[i]);
	if (b->death_ns[i] != NO_TIME)
		put_death(e, &json, b, i);
	json_end(&json, '}');
	buf_byte(out, '\n');
}

/* Returns the number of a node's innermost frame, and writes frames that were not written yet.
 * Returns 0 without memory. */
static uint64_t rows_json_frame_number(struct rows_export *e, uint32_t node, struct buf *out)
{
	const struct stack_node *n = recording_node(e->recording, node);
	uint32_t known = e->places.count, count = view_frame_count(e->view, node);
	uint32_t place = n ? intern_pair(&e->places, n->module, n->offset) : 0;

	if (!place || array_reserve(&e->first_frame, &e->first_frame_capacity, (uint64_t)place + 1,
				    sizeof(*e->first_frame)) < 0) {
		out->error = -ENOMEM;
		return 0;
	}
	if (place <= known)
		return e->first_frame[place];
	e->first_frame[place] = e->frames + 1;
	for (uint32_t i = 0; i < count; i++) {
		struct view_frame frame = view_frame(e->view, node, i);
		struct json json;

		json_init(&json, out);
		rows_json_put_frame(&json, ++e->frames, &frame);
		buf_byte(out, '\n');
	}
	return e->first_frame[place];
}

static void put_backtrace_line(struct rows_export *e, uint32_t node, struct buf *out)
{
	struct json json;

	for (uint32_t n = node; n; n = rows_json_parent_of(e, n))
		rows_json_frame_number(e, n, out);
	json_init(&json, out);
	json_object(&json, NULL);
	json_u64(&json, "backtrace_id", node);
	json_array(&json, "frames");
	for (uint32_t n = node; n; n = rows_json_parent_of(e, n))
		for (uint32_t i = 0; i < view_frame_count(e->view, n); i++)
			json_u64(&json, NULL, rows_json_frame_number(e, n, out) + i);
	json_end(&json, ']');
	json_end(&json, '}');
	buf_byte(out, '\n');
}

static int rows_json_begin(const struct writing *writing, void **ret_state, struct err_text *err)
{
	static const struct rows_writer rows = {ROWS_ALLOCATIONS | ROWS_BACKTRACES, NULL,
						put_allocation, put_backtrace_line};

	return rows_export_begin(&rows, writing, ret_state, err);
}

const struct format_writer json_writer = {.begin = rows_json_begin,
					  .some = rows_export_some,
					  .free = rows_export_free,
					  .estimate = rows_export_estimate};
