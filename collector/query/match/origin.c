/*
 * Judges rows by their origin: the last number that the program marks (heapcast_mark), the mapping
 * that they lay in, and the part of the allocator's heap. See matcher.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/match/map_spans.h"
#include "collector/query/match/mappings.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/mark_index.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

#define COLUMNS (ROWS_ADDRESS | ROWS_SIZE | ROWS_BIRTH)

struct origin {
	const struct filter *filter;
	struct mark_index marks;
	struct glibc_heap heap;
	struct map_spans spans; /* for from_map */
};

/* ---- mappings ---- */

static int find_spans(struct origin *o, struct view *view, struct err_text *err)
{
	struct mappings mappings;
	int r = query_mappings(view, false, &o->filter->cancel, &mappings, err);

	if (r < 0)
		return r;
	if (o->filter->from_map >= mappings.count)
		r = err_set(err, -EINVAL,
			    "from_map takes the id of a map, and there are %u, not %llu",
			    mappings.count, (unsigned long long)o->filter->from_map);
	else if (map_spans_init(&o->spans, &mappings) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	mappings_done(&mappings);
	return r;
}

static bool lies_in_map(const struct origin *o, uint64_t address, uint64_t birth_ns)
{
	uint64_t map;

	return map_spans_find(&o->spans, address, birth_ns, &map) && map == o->filter->from_map;
}

/* ---- rows ---- */

static bool answers(enum filter_answer wanted, bool yes)
{
	return wanted == ANSWER_ANY || (wanted == ANSWER_YES) == yes;
}

/* glibc does not set NON_MAIN_ARENA for a mapped chunk, so a mapping counts as main. */
static bool part_passes(const struct filter *f, enum heap_part part)
{
	if (f->mmaped == ANSWER_ANY && f->main_arena == ANSWER_ANY)
		return true;
	return part != HEAP_PART_UNKNOWN && answers(f->mmaped, part == HEAP_PART_MAPPED) &&
	       answers(f->main_arena, part != HEAP_PART_OTHER);
}

static bool origin_passes(const struct origin *o, const struct row_block *block, uint32_t i)
{
	const struct filter *f = o->filter;
	uint64_t address = block->address[i], birth = block->birth_ns[i];

	if (f->marker != NO_MARKER && mark_index_number(&o->marks, birth) != f->marker)
		return false;
	if (f->from_map != NO_MARKER && !lies_in_map(o, address, birth))
		return false;
	return answers(f->jemalloc, o->heap.is_jemalloc) &&
	       part_passes(f, glibc_heap_part(&o->heap, address, block->size[i]));
}

static int judge(struct matcher *m, const struct origin *o, struct err_text *err)
{
	cleanup(cleanup_row_reader_free) struct row_reader *reader = NULL;
	int r = row_reader_new(m->recording, &reader);

	for (uint32_t b = 0; !r && b < recording_blocks(m->recording); b++) {
		const struct row_block *block = row_reader_block(reader, b, COLUMNS, err);

		if (!block)
			return -EIO;
		r = matcher_cancelled(m, err);
		for (uint32_t i = 0; i < block->count && block->first_row + i < m->rows; i++)
			if (!origin_passes(o, block, i))
				m->row_passes[(block->first_row + i) / 8] &=
					(uint8_t) ~(1u << (block->first_row + i) % 8);
	}
	return r;
}

int origin_judge(struct matcher *m, struct view *view, struct err_text *err)
{
	struct origin origin = {.filter = m->filter};
	int r = mark_index_init(&origin.marks, m->recording);

	glibc_heap_init(&origin.heap, m->recording);
	if (!r && m->filter->from_map != NO_MARKER)
		r = find_spans(&origin, view, err);
	if (!r)
		r = judge(m, &origin, err);
	map_spans_done(&origin.spans);
	mark_index_done(&origin.marks);
	return r;
}
