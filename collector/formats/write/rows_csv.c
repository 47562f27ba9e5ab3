/*
 * Rows as comma-separated values (RFC 4180): a header, lines that end in CR LF, fields with a
 * comma, a quote or a line break in quotes, quotes doubled. A value that is unknown or does not
 * apply is empty. A backtrace is one field, outermost frame first, as in collapsed stacks. It is in
 * a table of its own, or in each line. See rows_parts.h.
 */
#include "collector/columns/row_block.h"
#include "collector/formats/write/rows_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collector/formats/write/put.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/stack_columns.h"
#include "proto/event.h"

#include "base/ban.h"

/* ---- fields ---- */

static void rows_csv_put_text(struct rows_export *e, struct buf *out, const char *text)
{
	const char *clean;

	buf_clear(&e->field);
	put_utf8(&e->field, text);
	clean = buf_text(&e->field);
	if (!clean) {
		out->error = -ENOMEM;
		return;
	}
	if (!strpbrk(clean, ",\"")) {
		buf_string(out, clean);
		return;
	}
	buf_byte(out, '"');
	for (; *clean; clean++) {
		if (*clean == '"')
			buf_byte(out, '"');
		buf_byte(out, (uint8_t)*clean);
	}
	buf_byte(out, '"');
}

static void put_number(struct buf *out, bool known, uint64_t number)
{
	if (known)
		buf_printf(out, "%" PRIu64, number);
	buf_byte(out, ',');
}

static void rows_csv_put_thread(struct rows_export *e, struct buf *out, uint32_t number)
{
	const struct thread_info *thread = recording_thread(e->recording, number);

	put_number(out, thread, thread ? thread->tid : 0);
	if (thread)
		rows_csv_put_text(e, out, thread->name);
	buf_byte(out, ',');
}

/* Collects the nodes from `node` outwards. Returns their number. */
static uint32_t take_way(struct rows_export *e, uint32_t node)
{
	uint32_t count = 0;

	while (node) {
		const struct stack_node *n = recording_node(e->recording, node);

		if (array_reserve(&e->way, &e->way_capacity, (uint64_t)count + 1, sizeof(*e->way)) <
		    0)
			break;
		e->way[count++] = node;
		node = n && n->parent < node ? n->parent : 0;
	}
	return count;
}

static void put_backtrace(struct rows_export *e, struct buf *out, uint32_t node)
{
	cleanup(buf_done) struct buf stack = {0};

	for (uint32_t i = take_way(e, node); i-- > 0;) {
		for (uint32_t k = view_frame_count(e->view, e->way[i]); k-- > 0;) {
			if (stack.length)
				buf_byte(&stack, ';');
			for (const char *p = view_frame(e->view, e->way[i], k).name; *p; p++)
				buf_byte(&stack, *p == ';' ? ':' : (uint8_t)*p);
		}
	}
	if (stack.length && buf_text(&stack))
		rows_csv_put_text(e, out, buf_text(&stack));
	if (buf_error(&stack))
		out->error = buf_error(&stack);
}

/* Writes the backtrace field of an allocation's line: the frames, or the number of the
 * backtrace. */
static void rows_csv_put_stack(struct rows_export *e, struct buf *out, uint32_t node)
{
	if (e->with_stacks)
		put_backtrace(e, out, node);
	else if (node)
		buf_printf(out, "%" PRIu32, node);
}

static const char *kind_text(const uint8_t *kinds, uint32_t i)
{
	const char *name = kinds && kinds[i] ? event_kind_name(kinds[i] & ROW_KIND) : NULL;

	return name ? name : "";
}

/* ---- lines ---- */

static void rows_csv_put_head(struct rows_export *e, struct buf *out)
{
	put_incomplete(out, "# ", e->recording, "\r\n");
	if (rows_has(e, ROWS_BACKTRACES)) {
		buf_string(out, "backtrace_id,backtrace\r\n");
		return;
	}
	buf_string(out,
		   "id,address,size,weight,kind,time_ns,thread,thread_name,end,freed_ns,free_kind,"
		   "free_thread,free_thread_name,reallocated_from,reallocated_to,");
	buf_string(out, e->with_stacks ? "backtrace,free_backtrace\r\n"
				       : "backtrace_id,free_backtrace_id\r\n");
}

static void put_allocation(struct rows_export *e, const struct row_block *b, uint32_t i,
			   struct buf *out)
{
	const char *end = block_end_name(b->end[i]);
	bool dead = b->death_ns[i] != NO_TIME;
	uint32_t from = b->chain_previous ? b->chain_previous[i] : NO_BLOCK;
	uint32_t to = b->chain_next ? b->chain_next[i] : NO_BLOCK;

	buf_printf(out, "%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",", b->first_row + i, b->address[i],
		   b->size[i]);
	put_number(out, b->weight, b->weight ? b->weight[i] : 0);
	buf_printf(out, "%s,%" PRIu64 ",", kind_text(b->kind, i), b->birth_ns[i]);
	rows_csv_put_thread(e, out, b->thread[i]);
	buf_printf(out, "%s,", end ? end : "");
	put_number(out, dead, b->death_ns[i]);
	buf_printf(out, "%s,", dead ? kind_text(b->death_kind, i) : "");
	rows_csv_put_thread(e, out, dead && b->death_thread ? b->death_thread[i] : 0);
	put_number(out, from != NO_BLOCK, from);
	put_number(out, to != NO_BLOCK, to);
	rows_csv_put_stack(e, out, b->stack[i]);
	buf_byte(out, ',');
	rows_csv_put_stack(e, out, dead && b->death_stack ? b->death_stack[i] : 0);
	buf_string(out, "\r\n");
}

static void put_backtrace_line(struct rows_export *e, uint32_t node, struct buf *out)
{
	buf_printf(out, "%" PRIu32 ",", node);
	put_backtrace(e, out, node);
	buf_string(out, "\r\n");
}

static int rows_csv_begin(const struct writing *writing, void **ret_state, struct err_text *err)
{
	static const struct rows_writer rows = {ROWS_ALLOCATIONS, rows_csv_put_head, put_allocation,
						put_backtrace_line};

	return rows_export_begin(&rows, writing, ret_state, err);
}

const struct format_writer csv_writer = {.begin = rows_csv_begin,
					 .some = rows_export_some,
					 .free = rows_export_free,
					 .estimate = rows_export_estimate};
