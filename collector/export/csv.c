/*
 * All matched allocations as rows of comma-separated values (RFC 4180): a head, lines that end in CR LF, fields with a comma, a quote or a
 * line's end in quotes, quotes doubled. What is not known or does not apply is empty. A backtrace is a field, outermost frame first,
 * as collapsed stacks have it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/export/export.h"
#include "collector/export/put.h"
#include "collector/query/query.h"
#include "collector/store/store.h"
#include "proto/event.h"

#include "base/ban.h"

#define ROWS_AT_ONCE 512

#define HEAD                                                                                       \
	"id,address,size,weight,kind,time_ns,thread,thread_name,end,freed_ns,free_kind,"           \
	"free_thread,free_thread_name,reallocated_from,reallocated_to,backtrace,"                  \
	"free_backtrace\r\n"

struct csv_export {
	struct view *view;
	const struct recording *recording;
	struct query_page *page;
	struct row_cache *cache;
	bool begun;
	uint64_t *rows; /* taken from the page */
	long count, at;
	struct buf field;
	uint32_t *way; /* nodes of a backtrace */
	uint32_t way_capacity;
};

void csv_export_free(struct csv_export *e)
{
	if (!e)
		return;
	query_page_free(e->page);
	row_cache_free(e->cache);
	buf_done(&e->field);
	free(e->rows);
	free(e->way);
	free(e);
}

int csv_export_new(struct view *view, const struct filter *filter, struct csv_export **ret_export,
		   struct err_text *err)
{
	struct csv_export *e = calloc(1, sizeof(*e));
	int r = e ? 0 : -ENOMEM;

	if (!r) {
		e->view = view;
		e->recording = view_recording(view);
		e->rows = calloc(ROWS_AT_ONCE, sizeof(*e->rows));
		r = e->rows ? row_cache_new(e->recording, ROWS_ALL, &e->cache) : -ENOMEM;
	}
	if (!r)
		r = query_page_new(view, filter, PAGE_BY_TIME, false, &e->page, err);
	if (r < 0) {
		csv_export_free(e);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_export = e;
	return 0;
}

/* ---- fields ---- */

static void put_text(struct csv_export *e, struct buf *out, const char *text)
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

static void put_thread(struct csv_export *e, struct buf *out, uint32_t number)
{
	const struct thread_info *thread = recording_thread(e->recording, number);

	put_number(out, thread, thread ? thread->tid : 0);
	if (thread)
		put_text(e, out, thread->name);
	buf_byte(out, ',');
}

/* The nodes of the way outwards; how many. */
static uint32_t take_way(struct csv_export *e, uint32_t node)
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

static void put_backtrace(struct csv_export *e, struct buf *out, uint32_t node)
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
		put_text(e, out, buf_text(&stack));
	if (buf_error(&stack))
		out->error = buf_error(&stack);
}

static const char *kind_text(const uint8_t *kinds, uint32_t i)
{
	const char *name = kinds && kinds[i] ? event_kind_name(kinds[i] & ROW_KIND) : NULL;

	return name ? name : "";
}

static void put_row(struct csv_export *e, const struct row_block *b, uint32_t i, struct buf *out)
{
	const char *end = block_end_name(b->end[i]);
	bool dead = b->death_ns[i] != NO_TIME;
	uint32_t from = b->chain_previous ? b->chain_previous[i] : NO_BLOCK;
	uint32_t to = b->chain_next ? b->chain_next[i] : NO_BLOCK;

	buf_printf(out, "%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",", b->first_row + i, b->address[i],
		   b->size[i]);
	put_number(out, b->weight, b->weight ? b->weight[i] : 0);
	buf_printf(out, "%s,%" PRIu64 ",", kind_text(b->kind, i), b->birth_ns[i]);
	put_thread(e, out, b->thread[i]);
	buf_printf(out, "%s,", end ? end : "");
	put_number(out, dead, b->death_ns[i]);
	buf_printf(out, "%s,", dead ? kind_text(b->death_kind, i) : "");
	put_thread(e, out, dead && b->death_thread ? b->death_thread[i] : 0);
	put_number(out, from != NO_BLOCK, from);
	put_number(out, to != NO_BLOCK, to);
	put_backtrace(e, out, b->stack[i]);
	buf_byte(out, ',');
	if (dead && b->death_stack)
		put_backtrace(e, out, b->death_stack[i]);
	buf_string(out, "\r\n");
}

/* ---- rows ---- */

int csv_export_some(struct csv_export *e, size_t bytes, struct buf *out, struct err_text *err)
{
	if (!e->begun) {
		put_incomplete(out, "# ", e->recording, "\r\n");
		buf_string(out, HEAD);
	}
	e->begun = true;
	while (out->length < bytes && !buf_error(out)) {
		const struct row_block *block;
		uint32_t i;

		if (e->at == e->count) {
			e->at = 0;
			e->count = query_page_next(e->page, e->rows, ROWS_AT_ONCE, err);
			if (e->count <= 0)
				return (int)e->count;
		}
		block = row_cache_get(e->cache, e->rows[e->at++], &i, err);
		if (!block)
			return -EIO;
		put_row(e, block, i, out);
	}
	return buf_error(out) ? err_set(err, buf_error(out), "out of memory") : 1;
}
