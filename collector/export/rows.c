/*
 * All matched allocations as JSON lines: one object a line, so that a reader can begin before the writer ends and a cut file
 * is readable up to the cut. Addresses are strings: JavaScript's numbers end at 2^53.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/export/export.h"
#include "collector/export/put.h"
#include "collector/query/query.h"
#include "collector/store/store.h"
#include "proto/event.h"

#include "base/ban.h"

#define FLUSH_BYTES 65536

struct rows {
	struct view *view;
	const struct recording *recording;
	struct buf *out;
	int (*flush)(void *context, struct buf *out);
	void *context;
};

static void put_address(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	json_string(json, key, text);
}

static void put_frame(struct json *json, const struct view_frame *frame)
{
	json_object(json, NULL);
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

/* Innermost first. A parent's number is below its child's, so the way ends. */
static void put_backtrace(struct rows *rows, struct json *json, const char *key, uint32_t node)
{
	json_array(json, key);
	while (node) {
		const struct stack_node *n = recording_node(rows->recording, node);
		uint32_t count = view_frame_count(rows->view, node);

		for (uint32_t i = 0; i < count; i++) {
			struct view_frame frame = view_frame(rows->view, node, i);

			put_frame(json, &frame);
		}
		node = n && n->parent < node ? n->parent : 0;
	}
	json_end(json, ']');
}

static void put_thread(struct rows *rows, struct json *json, uint32_t number)
{
	const struct thread_info *thread = recording_thread(rows->recording, number);

	if (!thread)
		return;
	json_u64(json, "thread", thread->tid);
	json_string(json, "thread_name", thread->name);
}

static void put_death(struct rows *rows, struct json *json, const struct row_block *b, uint32_t i)
{
	json_object(json, "deallocation");
	json_u64(json, "time_ns", b->death_ns[i]);
	json_string(json, "kind", b->death_kind ? event_kind_name(b->death_kind[i]) : NULL);
	if (b->death_thread)
		put_thread(rows, json, b->death_thread[i]);
	if (b->death_stack && b->death_stack[i])
		put_backtrace(rows, json, "backtrace", b->death_stack[i]);
	json_end(json, '}');
}

static int put_row(void *context, const struct row_block *b, uint32_t i)
{
	struct rows *rows = context;
	struct json json;

	json_init(&json, rows->out);
	json_object(&json, NULL);
	json_u64(&json, "id", b->first_row + i);
	put_address(&json, "address_s", b->address[i]);
	json_u64(&json, "size", b->size[i]);
	if (b->weight)
		json_u64(&json, "weight", b->weight[i]);
	json_string(&json, "kind", event_kind_name(row_kind(b, i)));
	json_u64(&json, "time_ns", b->birth_ns[i]);
	put_thread(rows, &json, b->thread[i]);
	json_string(&json, "end", block_end_name(b->end[i]));
	put_backtrace(rows, &json, "backtrace", b->stack[i]);
	if (b->chain_previous && b->chain_previous[i] != NO_BLOCK)
		json_u64(&json, "reallocated_from", b->chain_previous[i]);
	if (b->chain_next && b->chain_next[i] != NO_BLOCK)
		json_u64(&json, "reallocated_to", b->chain_next[i]);
	if (b->death_ns[i] != NO_TIME)
		put_death(rows, &json, b, i);
	json_end(&json, '}');
	buf_byte(rows->out, '\n');
	if (buf_error(rows->out))
		return buf_error(rows->out);
	return rows->out->length >= FLUSH_BYTES && rows->flush
		       ? rows->flush(rows->context, rows->out)
		       : 0;
}

int export_json(struct view *view, const struct filter *filter, struct buf *out,
		int (*flush)(void *context, struct buf *out), void *context, struct err_text *err)
{
	struct rows rows = {
		.view = view,
		.recording = view_recording(view),
		.out = out,
		.flush = flush,
		.context = context,
	};
	int error = query_each(view, filter, put_row, &rows, err);

	if (!error && flush && out->length)
		error = flush(context, out);
	return error;
}
