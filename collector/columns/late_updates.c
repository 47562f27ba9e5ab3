/* Late updates of sealed rows. late_updates.h describes them. */
#include "collector/columns/late_updates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/bytes.h"
#include "collector/columns/row_block.h"
#include "base/ban.h"

void late_updates_done(struct late_updates *l)
{
	free(l->fresh);
	free(l->pages);
	*l = (struct late_updates){0};
}

int late_updates_add(struct late_updates *l, const struct late_update_record *record)
{
	if (array_reserve(&l->fresh, &l->fresh_capacity, (uint64_t)l->fresh_count + 1,
			  sizeof(*l->fresh)) < 0)
		return -ENOMEM;
	l->fresh[l->fresh_count] = *record;
	l->fresh[l->fresh_count].order = l->fresh_count;
	l->fresh_count++;
	return 0;
}

static int by_row(const void *a, const void *b)
{
	const struct late_update_record *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Merges the records from `sorted` on, which are sorted, with those before, from the back. */
static void merge_tail(struct late_updates *l, const struct late_update_record *tail)
{
	uint32_t head = l->sorted, left = l->fresh_count - l->sorted;

	for (uint32_t to = l->fresh_count; left; to--) {
		bool from_head = head && l->fresh[head - 1].row > tail[left - 1].row;

		l->fresh[to - 1] = from_head ? l->fresh[--head] : tail[--left];
	}
}

void late_updates_sort(struct late_updates *l)
{
	uint32_t added = l->fresh_count - l->sorted;
	struct late_update_record *tail;

	if (!added)
		return;
	tail = l->sorted ? malloc(added * sizeof(*tail)) : NULL;
	if (tail) {
		memcpy(tail, l->fresh + l->sorted, added * sizeof(*tail));
		qsort(tail, added, sizeof(*tail), by_row);
		merge_tail(l, tail);
		free(tail);
	} else {
		qsort(l->fresh, l->fresh_count, sizeof(*l->fresh), by_row);
	}
	for (uint32_t i = 0; i < l->fresh_count; i++)
		l->fresh[i].order = i;
	l->sorted = l->fresh_count;
}

/* ---- on disk ---- */

static uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		*to++ = (uint8_t)(value >> 8 * i);
	return to;
}

static uint8_t *put_record(uint8_t *to, const struct late_update_record *r)
{
	to = put_u32(to, r->row);
	to = put_u32(to, r->next);
	to = put_u32(to, (uint32_t)r->time_ns);
	to = put_u32(to, (uint32_t)(r->time_ns >> 32));
	to = put_u32(to, r->stack);
	to = put_u32(to, r->thread);
	return put_u32(to, (uint32_t)r->kind | (uint32_t)r->end << 8 | (uint32_t)r->what << 16);
}

static struct late_update_record read_record(struct reader *in)
{
	struct late_update_record r = {0};
	uint32_t bytes;

	r.row = reader_u32le(in);
	r.next = reader_u32le(in);
	r.time_ns = reader_u64le(in);
	r.stack = reader_u32le(in);
	r.thread = reader_u32le(in);
	bytes = reader_u32le(in);
	r.kind = (uint8_t)bytes;
	r.end = (uint8_t)(bytes >> 8);
	r.what = (uint8_t)(bytes >> 16);
	return r;
}

int late_updates_write(struct late_updates *l, bool base,
		       int (*write)(void *context, const void *data, size_t length,
				    uint64_t *ret_offset),
		       void *context)
{
	static _Thread_local uint8_t bytes[LATE_UPDATE_PAGE * LATE_UPDATE_RECORD];
	int r = 0;

	late_updates_sort(l);
	for (uint32_t from = 0; !r && from < l->fresh_count; from += LATE_UPDATE_PAGE) {
		uint32_t left = l->fresh_count - from,
			 n = left < LATE_UPDATE_PAGE ? left : LATE_UPDATE_PAGE;
		struct late_update_page page = {.count = n,
						.first_row = l->fresh[from].row,
						.last_row = l->fresh[from + n - 1].row,
						.base = base};
		uint8_t *at = bytes;

		for (uint32_t i = 0; i < n; i++)
			at = put_record(at, &l->fresh[from + i]);
		page.check = XXH3_64bits(bytes, (size_t)(at - bytes));
		r = array_reserve(&l->pages, &l->page_capacity, (uint64_t)l->page_count + 1,
				  sizeof(*l->pages));
		if (!r)
			r = write(context, bytes, (size_t)(at - bytes), &page.offset);
		if (!r)
			l->pages[l->page_count++] = page;
	}
	if (!r)
		l->fresh_count = l->sorted = 0;
	return r;
}

/* ---- reading ---- */

static uint32_t first_fresh(const struct late_updates *l, uint32_t row)
{
	uint32_t low = 0, high = l->sorted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->fresh[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool touches(const struct late_update_page *page, uint32_t first, uint32_t last)
{
	return page->first_row <= last && page->last_row >= first;
}

bool late_updates_any(const struct late_updates *l, uint32_t first, uint32_t last)
{
	uint32_t at = first_fresh(l, first);

	if (at < l->sorted && l->fresh[at].row <= last)
		return true;
	for (uint32_t i = 0; i < l->page_count; i++)
		if (touches(&l->pages[i], first, last))
			return true;
	return false;
}

static void apply_end(struct rows_block *b, uint32_t i, const struct late_update_record *r)
{
	struct row_block *v = &b->view;

	if (v->death_ns)
		b->death_ns[i] =
			v->birth_ns && r->time_ns < b->birth_ns[i] ? b->birth_ns[i] : r->time_ns;
	if (v->end)
		b->end[i] = r->end;
	if (v->death_stack)
		b->death_stack[i] = r->stack;
	if (v->death_thread)
		b->death_thread[i] = r->thread;
	if (v->death_kind)
		b->death_kind[i] = r->kind;
}

static void apply(struct rows_block *b, const struct late_update_record *r)
{
	uint32_t i = (uint32_t)(r->row - b->view.first_row);

	if (r->what & LATE_UPDATE_END)
		apply_end(b, i, r);
	if (r->what & LATE_UPDATE_NEXT && b->view.chain_next)
		b->chain_next[i] = r->next;
}

static bool sane(const struct late_update_record *r, const struct block_limits *limits)
{
	if (r->what & LATE_UPDATE_NEXT && (r->next <= r->row || r->next >= limits->rows))
		return false;
	return !(r->what & LATE_UPDATE_END) ||
	       (r->time_ns <= ROWS_TIME_MAX && r->end != BLOCK_IN_USE && r->end <= BLOCK_EXEC &&
		r->stack <= limits->nodes && r->thread <= limits->threads);
}

static int read_page(const struct late_update_page *page, const int fd[2], struct buf *spare)
{
	size_t length = (size_t)page->count * LATE_UPDATE_RECORD;
	uint8_t *room;

	if (page->count > LATE_UPDATE_PAGE)
		return -EBADMSG;
	buf_clear(spare);
	room = buf_reserve(spare, length);
	if (!room)
		return -ENOMEM;
	if (pread(fd[page->base], room, length, (off_t)page->offset) != (ssize_t)length ||
	    XXH3_64bits(room, length) != page->check)
		return -EBADMSG;
	return 0;
}

/* Returns the first record of a page at `data` whose row is at or behind `row`. */
static uint32_t first_of_page(const uint8_t *data, uint32_t count, uint32_t row)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct reader in =
			reader_of(data + (size_t)middle * LATE_UPDATE_RECORD, LATE_UPDATE_RECORD);

		if (reader_u32le(&in) < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Applies the records of a page at `data` to the rows [first, last]. */
static int apply_page(struct rows_block *b, const uint8_t *data, uint32_t count, uint32_t first,
		      uint32_t last, const struct block_limits *limits)
{
	uint32_t from = first_of_page(data, count, first);
	struct reader in = reader_of(data + (size_t)from * LATE_UPDATE_RECORD,
				     (size_t)(count - from) * LATE_UPDATE_RECORD);

	while (reader_more(&in)) {
		struct late_update_record record = read_record(&in);

		if (record.row > last)
			break;
		/* The writer sorts pages, so a page out of order is damaged. */
		if (record.row < first || !sane(&record, limits))
			return -EBADMSG;
		apply(b, &record);
	}
	return 0;
}

int late_updates_apply(const struct late_updates *l, struct rows_block *b, const int fd[2],
		       const struct block_limits *limits, struct buf *spare)
{
	uint32_t first = (uint32_t)b->view.first_row, last = first + b->view.count - 1;

	for (uint32_t i = 0; i < l->page_count; i++) {
		int r;

		if (!touches(&l->pages[i], first, last))
			continue;
		r = read_page(&l->pages[i], fd, spare);
		if (!r)
			r = apply_page(b, spare->data, l->pages[i].count, first, last, limits);
		if (r < 0)
			return r;
	}
	for (uint32_t i = first_fresh(l, first); i < l->sorted && l->fresh[i].row <= last; i++)
		apply(b, &l->fresh[i]);
	return 0;
}
