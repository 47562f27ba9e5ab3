/*
 * Returns rows in an order, some at a time. In the order of time they are stored already. For
 * another key, a pass over all rows keeps the next few rows after the last one returned, in a heap
 * of bounded size. Reading everything takes many passes, reading a page takes one, and the memory
 * never depends on the size of the recording. Rows that a distant page skips are counted (rank.h),
 * not read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/rank.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

#define HEAP_FIRST 1024u
#define HEAP_MAX   262144u

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

/* The `size` entries that come first in an order, of all entries offered. The last of them is on
 * top. */
struct heap {
	struct rank_entry *list;
	uint32_t count, size;
	bool descending, begun; /* begun: only entries after `last` are accepted */
	struct rank_entry last;
};

struct query_page {
	struct matcher matcher;
	enum page_order order;
	bool descending;
	bool total_known;
	uint64_t total;
	/* By time: the matched rows of one block at a time. */
	uint16_t *room;
	struct row_set rows;
	uint64_t first_row; /* first row of the block */
	/* block: number of blocks taken; at: number of rows of the set returned. */
	uint32_t blocks, block, at;
	/* By another key: */
	struct heap heap;
	/* left_out: number of the next rows that are still to be skipped. */
	uint32_t heap_at, left_out;
	bool exhausted;
};

static bool page_before(const struct heap *heap, const struct rank_entry *a,
			const struct rank_entry *b)
{
	bool less = a->key != b->key ? a->key < b->key : a->row < b->row;
	bool same = a->key == b->key && a->row == b->row;

	return !same && less != heap->descending;
}

/* ---- heap ---- */

static void sift_down(struct heap *h, uint32_t i)
{
	for (;;) {
		uint32_t largest = i, left = 2 * i + 1, right = left + 1;
		struct rank_entry swap;

		if (left < h->count && page_before(h, &h->list[largest], &h->list[left]))
			largest = left;
		if (right < h->count && page_before(h, &h->list[largest], &h->list[right]))
			largest = right;
		if (largest == i)
			return;
		swap = h->list[i];
		h->list[i] = h->list[largest];
		h->list[largest] = swap;
		i = largest;
	}
}

static void sift_up(struct heap *h, uint32_t i)
{
	while (i && page_before(h, &h->list[(i - 1) / 2], &h->list[i])) {
		struct rank_entry swap = h->list[i];

		h->list[i] = h->list[(i - 1) / 2];
		h->list[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

static void offer(struct heap *h, struct rank_entry entry)
{
	if (h->begun && !page_before(h, &h->last, &entry))
		return;
	if (h->count < h->size) {
		h->list[h->count++] = entry;
		sift_up(h, h->count - 1);
	} else if (page_before(h, &entry, &h->list[0])) {
		h->list[0] = entry;
		sift_down(h, 0);
	}
}

static int page_in_order(const void *a, const void *b, void *context)
{
	return page_before(context, a, b) ? -1 : page_before(context, b, a);
}

/* ---- by a key ---- */

struct part {
	struct heap heap;
	enum page_order order;
};

static void page_part_free(void *part)
{
	free(((struct part *)part)->heap.list);
	free(part);
}

static int page_part_new(void *context, void **ret_part)
{
	const struct query_page *page = context;
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	part->order = page->order;
	/* Copies only what part_merge does not change meanwhile. */
	part->heap = (struct heap){.size = page->heap.size,
				   .descending = page->heap.descending,
				   .begun = page->heap.begun,
				   .last = page->heap.last};
	part->heap.list = malloc(part->heap.size * sizeof(*part->heap.list));
	return part->heap.list ? 0 : -ENOMEM;
}

static int page_part_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct part *part = context;
	const struct heap *heap = &part->heap;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t key = rank_key(part->order, block, i), top = heap->list[0].key;

		/* Most rows come after all that are kept. */
		if (heap->count == heap->size && (heap->descending ? key < top : key > top))
			continue;
		offer(&part->heap, (struct rank_entry){key, block->first_row + i});
	}
	return 0;
}

static int page_part_merge(void *context, void *part)
{
	struct query_page *page = context;
	const struct heap *from = &((struct part *)part)->heap;

	for (uint32_t i = 0; i < from->count; i++)
		offer(&page->heap, from->list[i]);
	return 0;
}

/* Returns true if all rows of a block were returned already. */
static bool comes_before(const void *context, const struct row_block *zone)
{
	const struct query_page *s = context;
	const struct heap *h = &s->heap;

	if (!h->begun)
		return false;
	return h->descending ? rank_key_min(s->order, zone) > h->last.key
			     : rank_key_max(s->order, zone) < h->last.key;
}

/* Fills the heap with what follows `last`, and sorts it. */
static int refill(struct query_page *s, struct err_text *err)
{
	uint32_t size = s->heap.size ? s->heap.size * 16 : HEAP_FIRST;
	struct rank_entry *list;
	int r;

	if (size < s->left_out + HEAP_FIRST)
		size = s->left_out + HEAP_FIRST;
	if (size > HEAP_MAX)
		size = HEAP_MAX;
	list = realloc(s->heap.list, size * sizeof(*list));
	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	s->heap.list = list;
	s->heap.size = size;
	s->heap.count = 0;
	s->heap_at = 0;
	r = sweep_run(&(struct sweep){.matcher = &s->matcher,
				      .columns = rank_columns(s->order),
				      .context = s,
				      .skips = comes_before,
				      .part_new = page_part_new,
				      .part_rows = page_part_rows,
				      .part_merge = page_part_merge,
				      .part_free = page_part_free},
		      err);
	if (r < 0)
		return r;
	s->exhausted = s->heap.count < s->heap.size;
	qsort_r(s->heap.list, s->heap.count, sizeof(*s->heap.list), page_in_order, &s->heap);
	return 0;
}

static long next_by_key(struct query_page *s, uint64_t *ret_rows, size_t room, struct err_text *err)
{
	size_t done = 0;

	while (done < room) {
		if (s->heap_at == s->heap.count) {
			int r;

			if (s->exhausted)
				break;
			r = refill(s, err);
			if (r < 0)
				return r;
			continue;
		}
		s->heap.last = s->heap.list[s->heap_at++];
		s->heap.begun = true;
		if (s->left_out)
			s->left_out--;
		else
			ret_rows[done++] = s->heap.last.row;
	}
	return (long)done;
}

/* ---- by time ---- */

/* The recording may be refreshed between two calls, so no reader is kept. */
static int select_rows(struct query_page *s, uint32_t index, uint32_t count, struct err_text *err)
{
	cleanup(cleanup_row_reader_free) struct row_reader *reader = NULL;
	const struct row_block *block;

	if (row_reader_new(s->matcher.recording, &reader) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	block = row_reader_block(reader, index, matcher_columns(&s->matcher), err);
	if (!block)
		return -EIO;
	s->rows = matcher_select(&s->matcher, block, 0, count, s->room);
	return 0;
}

/* Takes the matched rows of the next block; none if the block is skipped. */
static int page_take_block(struct query_page *s, struct err_text *err)
{
	const struct matcher *m = &s->matcher;
	uint32_t index = s->descending ? s->blocks - 1 - s->block : s->block, count;
	const struct row_block *block = recording_zone(m->recording, index);
	int r;

	s->block++;
	s->at = 0;
	s->rows = (struct row_set){0};
	count = matcher_block_rows(m, block);
	if (!count)
		return 0;
	r = matcher_cancelled(m, err);
	if (r < 0)
		return r;
	s->first_row = block->first_row;
	if (m->everything && !m->hides_survivors) {
		s->rows.count = count;
		return 0;
	}
	return select_rows(s, index, count, err);
}

static long next_by_time(struct query_page *s, uint64_t *ret_rows, size_t room,
			 struct err_text *err)
{
	size_t done = 0;

	while (done < room) {
		if (s->at == s->rows.count) {
			int r = s->block < s->blocks ? page_take_block(s, err) : 1;

			if (r < 0)
				return r;
			if (r)
				break;
			continue;
		}
		ret_rows[done++] =
			s->first_row +
			row_at(&s->rows, s->descending ? s->rows.count - 1 - s->at : s->at);
		s->at++;
	}
	return (long)done;
}

/* ---- public ---- */

static int page_init(struct query_page *page, struct view *view, const struct filter *filter,
		     enum page_order order, bool descending, struct err_text *err)
{
	int r = matcher_init(&page->matcher, view, filter, err);

	if (r < 0)
		return r;
	page->order = order;
	page->descending = page->heap.descending = descending;
	page->blocks = recording_blocks(view->recording);
	page->room = malloc(ROWS_PER_BLOCK * sizeof(*page->room));
	if (!page->room)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int query_page_new(struct view *view, const struct filter *filter, enum page_order order,
		   bool descending, struct query_page **ret_page, struct err_text *err)
{
	struct query_page *page = calloc(1, sizeof(*page));
	int r = page ? page_init(page, view, filter, order, descending, err)
		     : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		query_page_free(page);
	else
		*ret_page = page;
	return r;
}

void query_page_free(struct query_page *page)
{
	if (!page)
		return;
	matcher_done(&page->matcher);
	free(page->room);
	free(page->heap.list);
	free(page);
}

long query_page_next(struct query_page *page, uint64_t *ret_rows, size_t room, struct err_text *err)
{
	if (page->order == PAGE_BY_TIME)
		return next_by_time(page, ret_rows, room, err);
	return next_by_key(page, ret_rows, room, err);
}

static int skip_by_key(struct query_page *s, uint64_t count, struct err_text *err)
{
	bool any;
	int r = rank_skip(&s->matcher, s->order, s->descending, count, HEAP_MAX - HEAP_FIRST,
			  &s->heap.last, &any, &count, err);

	if (r < 0)
		return r;
	s->heap.begun = any;
	s->left_out = (uint32_t)count;
	return 0;
}

static int skip_by_time(struct query_page *s, uint64_t count, struct err_text *err)
{
	while (count) {
		uint64_t there = s->rows.count - s->at, taken = count < there ? count : there;
		int r;

		s->at += (uint32_t)taken;
		count -= taken;
		if (!count)
			break;
		r = s->block < s->blocks ? page_take_block(s, err) : 1;
		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

int query_page_skip(struct query_page *page, uint64_t count, struct err_text *err)
{
	return page->order == PAGE_BY_TIME ? skip_by_time(page, count, err)
					   : skip_by_key(page, count, err);
}

static int total_new(void *context, void **ret_part)
{
	(void)context;
	*ret_part = calloc(1, sizeof(uint64_t));
	return *ret_part ? 0 : -ENOMEM;
}

static int total_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	(void)block;
	*(uint64_t *)part += rows->count;
	return 0;
}

static int total_merge(void *context, void *part)
{
	((struct query_page *)context)->total += *(uint64_t *)part;
	return 0;
}

int query_page_total(struct query_page *page, uint64_t *ret_total, struct err_text *err)
{
	int r = 0;

	if (!page->total_known && page->matcher.everything && !page->matcher.hides_survivors) {
		page->total = page->matcher.rows;
	} else if (!page->total_known) {
		page->total = 0;
		r = sweep_run(&(struct sweep){.matcher = &page->matcher,
					      .context = page,
					      .part_new = total_new,
					      .part_rows = total_rows,
					      .part_merge = total_merge,
					      .part_free = free},
			      err);
	}
	if (r < 0)
		return r;
	page->total_known = true;
	*ret_total = page->total;
	return 0;
}
