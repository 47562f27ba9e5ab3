/*
 * Rows judged by where they came from: the number that the program said last (heapcast_mark), the mapping that they lay in, the part
 * of the allocator's heap. See matcher.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/glibc_heap.h"
#include "collector/query/mappings.h"
#include "collector/query/matcher.h"
#include "collector/query/said.h"
#include "collector/query/view.h"

#include "base/ban.h"

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

#define COLUMNS (ROWS_ADDRESS | ROWS_SIZE | ROWS_BIRTH)

struct origin {
	const struct filter *filter;
	struct said said;
	struct glibc_heap heap;
	/* Of from_map: its addresses, and when blocks there were its. */
	uint64_t start, end, from_ns, to_ns;
};

bool origin_asked(const struct filter *f)
{
	return f->mmaped != ANSWER_ANY || f->jemalloc != ANSWER_ANY ||
	       f->main_arena != ANSWER_ANY || f->marker != NO_MARKER || f->from_map != NO_MARKER;
}

/* ---- mappings ---- */

/* Blocks are born in a mapping before a reading shows it: those that were born there since what lay there before went are its. */
static void find_span(struct origin *o, const struct mappings *mappings, uint64_t id)
{
	const struct mapping *map = &mappings->list[id];

	o->start = map->address;
	o->end = map->address + map->size;
	o->from_ns = 0;
	o->to_ns = map->unmapped_ns;
	for (uint64_t i = 0; i < mappings->count; i++) {
		const struct mapping *m = &mappings->list[i];

		if (i != id && m->unmapped_ns <= map->mapped_ns && m->unmapped_ns > o->from_ns &&
		    m->address < o->end && m->address + m->size > o->start)
			o->from_ns = m->unmapped_ns;
	}
}

static int find_map(struct origin *o, struct view *view, struct err_text *err)
{
	struct mappings mappings;
	int r = query_mappings(view, false, &o->filter->cancel, &mappings, err);

	if (r < 0)
		return r;
	if (o->filter->from_map < mappings.count)
		find_span(o, &mappings, o->filter->from_map);
	else
		r = err_set(err, -EINVAL,
			    "from_map takes the id of a map, and there are %u, not %llu",
			    mappings.count, (unsigned long long)o->filter->from_map);
	mappings_done(&mappings);
	return r;
}

/* ---- rows ---- */

static bool answers(enum filter_answer wanted, bool yes)
{
	return wanted == ANSWER_ANY || (wanted == ANSWER_YES) == yes;
}

/* glibc's bit for another arena than the main one is not set for a mapping, either. */
static bool part_passes(const struct filter *f, enum heap_part part)
{
	if (f->mmaped == ANSWER_ANY && f->main_arena == ANSWER_ANY)
		return true;
	return part != HEAP_PART_UNKNOWN && answers(f->mmaped, part == HEAP_PART_MAPPED) &&
	       answers(f->main_arena, part != HEAP_PART_OTHER);
}

static bool passes(const struct origin *o, const struct row_block *block, uint32_t i)
{
	const struct filter *f = o->filter;
	uint64_t address = block->address[i], birth = block->birth_ns[i];

	if (f->marker != NO_MARKER && said_number(&o->said, birth) != f->marker)
		return false;
	if (f->from_map != NO_MARKER &&
	    (address < o->start || address >= o->end || birth < o->from_ns || birth > o->to_ns))
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
			if (!passes(o, block, i))
				m->row_passes[(block->first_row + i) / 8] &=
					(uint8_t) ~(1u << (block->first_row + i) % 8);
	}
	return r;
}

int origin_judge(struct matcher *m, struct view *view, struct err_text *err)
{
	struct origin origin = {.filter = m->filter};
	int r = said_init(&origin.said, m->recording);

	glibc_heap_init(&origin.heap, m->recording);
	if (!r && m->filter->from_map != NO_MARKER)
		r = find_map(&origin, view, err);
	if (!r)
		r = judge(m, &origin, err);
	said_done(&origin.said);
	return r;
}
