/*
 * Rows in an order, some at a time. By time they lie in order already. By another key, a pass over all rows keeps the next few
 * that follow the last one handed out, in a heap of bounded size: many passes for who reads all, one for who reads a page, and
 * the memory never depends on the recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/query/matcher.h"
#include "collector/query/view.h"

#include "base/ban.h"

#define HEAP_FIRST 1024u
#define HEAP_MAX   262144u

struct entry {
	uint64_t key, row;
};

struct query_page {
	struct matcher matcher;
	enum page_order order;
	bool descending;
	bool total_known;
	uint64_t total;
	uint64_t at; /* by time: rows looked at, from the end if descending */
	/* By another key: */
	struct entry *heap;
	uint32_t heap_count, heap_size, heap_at;
	struct entry last;
	bool begun, exhausted;
};

static bool before(const struct query_page *page, const struct entry *a, const struct entry *b)
{
	bool less = a->key != b->key ? a->key < b->key : a->row < b->row;
	bool same = a->key == b->key && a->row == b->row;

	return !same && less != page->descending;
}

/* ---- the heap: what comes last in the order is on top ---- */

static void sift_down(struct query_page *s, uint32_t i)
{
	for (;;) {
		uint32_t largest = i, left = 2 * i + 1, right = left + 1;
		struct entry swap;

		if (left < s->heap_count && before(s, &s->heap[largest], &s->heap[left]))
			largest = left;
		if (right < s->heap_count && before(s, &s->heap[largest], &s->heap[right]))
			largest = right;
		if (largest == i)
			return;
		swap = s->heap[i];
		s->heap[i] = s->heap[largest];
		s->heap[largest] = swap;
		i = largest;
	}
}

static void sift_up(struct query_page *s, uint32_t i)
{
	while (i && before(s, &s->heap[(i - 1) / 2], &s->heap[i])) {
		struct entry swap = s->heap[i];

		s->heap[i] = s->heap[(i - 1) / 2];
		s->heap[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

static void offer(struct query_page *s, struct entry entry)
{
	if (s->begun && !before(s, &s->last, &entry))
		return;
	if (s->heap_count < s->heap_size) {
		s->heap[s->heap_count++] = entry;
		sift_up(s, s->heap_count - 1);
	} else if (before(s, &entry, &s->heap[0])) {
		s->heap[0] = entry;
		sift_down(s, 0);
	}
}

static int in_order(const void *a, const void *b, void *context)
{
	return before(context, a, b) ? -1 : before(context, b, a);
}

/* Fills the heap with what follows `last`, in order. */
static int refill(struct query_page *s, struct err_text *err)
{
	uint32_t size = s->heap_size ? s->heap_size * 16 : HEAP_FIRST;
	struct entry *heap;

	if (size > HEAP_MAX)
		size = HEAP_MAX;
	heap = realloc(s->heap, size * sizeof(*heap));
	if (!heap)
		return err_set(err, -ENOMEM, "out of memory");
	s->heap = heap;
	s->heap_size = size;
	s->heap_count = 0;
	s->heap_at = 0;
	for (uint32_t b = 0; b < recording_blocks(s->matcher.recording); b++) {
		const struct row_block *block = recording_block(s->matcher.recording, b);
		const uint64_t *keys = s->order == PAGE_BY_SIZE ? block->size : block->address;
		uint32_t count = matcher_block(&s->matcher, block);

		if (matcher_cancelled(&s->matcher, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < count; i++)
			if (matcher_row(&s->matcher, block, i))
				offer(s, (struct entry){keys[i], block->first_row + i});
	}
	s->exhausted = s->heap_count < s->heap_size;
	qsort_r(s->heap, s->heap_count, sizeof(*s->heap), in_order, s);
	return 0;
}

static long next_by_key(struct query_page *s, uint64_t *ret_rows, size_t room, struct err_text *err)
{
	size_t done = 0;

	while (done < room) {
		if (s->heap_at == s->heap_count) {
			int r;

			if (s->exhausted)
				break;
			r = refill(s, err);
			if (r < 0)
				return r;
			continue;
		}
		s->last = s->heap[s->heap_at++];
		s->begun = true;
		ret_rows[done++] = s->last.row;
	}
	return (long)done;
}

/* ---- by time ---- */

static long next_by_time(struct query_page *s, uint64_t *ret_rows, size_t room,
			 struct err_text *err)
{
	size_t done = 0;

	while (done < room && s->at < s->matcher.rows) {
		uint64_t row = s->descending ? s->matcher.rows - 1 - s->at : s->at;
		const struct row_block *block =
			recording_block(s->matcher.recording, (uint32_t)(row / ROWS_PER_BLOCK));
		uint32_t count = matcher_block(&s->matcher, block),
			 i = (uint32_t)(row % ROWS_PER_BLOCK);
		uint32_t left = s->descending ? i + 1 : block->count - i;

		if (!count) {
			s->at += left;
			continue;
		}
		if (matcher_cancelled(&s->matcher, err))
			return -ECANCELED;
		for (; left && done < room && s->at < s->matcher.rows; left--, s->at++) {
			if (i < count && matcher_row(&s->matcher, block, i))
				ret_rows[done++] = block->first_row + i;
			i += s->descending ? -1u : 1u;
		}
	}
	return (long)done;
}

/* ---- public ---- */

int query_page_new(struct view *view, const struct filter *filter, enum page_order order,
		   bool descending, struct query_page **ret_page, struct err_text *err)
{
	struct query_page *page = calloc(1, sizeof(*page));
	int r;

	if (!page)
		return err_set(err, -ENOMEM, "out of memory");
	r = matcher_init(&page->matcher, view, filter, err);
	if (r < 0) {
		free(page);
		return r;
	}
	page->order = order;
	page->descending = descending;
	*ret_page = page;
	return 0;
}

void query_page_free(struct query_page *page)
{
	if (!page)
		return;
	matcher_done(&page->matcher);
	free(page->heap);
	free(page);
}

long query_page_next(struct query_page *page, uint64_t *ret_rows, size_t room, struct err_text *err)
{
	if (page->order == PAGE_BY_TIME)
		return next_by_time(page, ret_rows, room, err);
	return next_by_key(page, ret_rows, room, err);
}

int query_page_total(struct query_page *page, uint64_t *ret_total, struct err_text *err)
{
	const struct matcher *m = &page->matcher;
	uint64_t total = 0;

	for (uint32_t b = 0; !page->total_known && b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);
		uint32_t count = matcher_block(m, block);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		if (m->everything)
			total += count;
		else
			for (uint32_t i = 0; i < count; i++)
				total += matcher_row(m, block, i);
	}
	if (!page->total_known)
		page->total = total;
	page->total_known = true;
	*ret_total = page->total;
	return 0;
}
