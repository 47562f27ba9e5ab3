/* Mappings over time, with their calls and their usage. See mappings.h. */
#include "collector/query/match/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/map_readings.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

void mappings_done(struct mappings *m)
{
	free(m->list);
	free(m->regions);
	free(m->usage);
	strings_done(&m->names);
	*m = (struct mappings){0};
}

/* ---- sorting ---- */

static int by_mapping(const void *a, const void *b)
{
	const struct mapping_usage *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int regions_by_mapping(const void *a, const void *b)
{
	const struct mapping_region *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Returns true if two regions were split only because the kernel's regions were, and can be
 * joined. */
static bool joins(struct mapping_region *a, const struct mapping_region *b)
{
	const struct mapping_look *x = &a->look, *y = &b->look;

	if (a->mapping != b->mapping || a->address + a->size != b->address ||
	    a->from_ns != b->from_ns || a->to_ns != b->to_ns || a->end != b->end ||
	    a->seen != b->seen || (a->end && a->end_address + a->end_size != b->end_address) ||
	    x->flags != y->flags || x->name != y->name || x->inode != y->inode ||
	    (x->inode && x->offset + a->size != y->offset))
		return false;
	a->size += b->size;
	a->end_size += b->end_size;
	return true;
}

static void join_regions(struct mappings *m)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->region_count; i++) {
		if (kept && joins(&m->regions[kept - 1], &m->regions[i]))
			m->list[m->regions[i].mapping].region_count--;
		else
			m->regions[kept++] = m->regions[i];
	}
	m->region_count = kept;
}

static void put_in_order(struct mappings *m)
{
	uint32_t first = 0;

	if (m->usage_count)
		qsort(m->usage, m->usage_count, sizeof(*m->usage), by_mapping);
	if (m->region_count)
		qsort(m->regions, m->region_count, sizeof(*m->regions), regions_by_mapping);
	join_regions(m);
	for (uint32_t i = 0; i < m->count; i++) {
		m->list[i].first_region = first;
		first += m->list[i].region_count;
	}
}

/* ---- queries ---- */

int query_mappings(struct view *view, bool with_usage, const struct cancel *cancel,
		   struct mappings *ret_mappings, struct err_text *err)
{
	struct mappings mappings = {0};
	struct map_tracker tracker = {
		.recording = view->recording, .to = &mappings, .with_usage = with_usage};
	int r = map_readings_follow(&tracker, recording_path(view->recording), cancel, err);

	tracker.sizes = !mappings.gathered;
	if (!r && map_tracker_advance(&tracker, NO_TIME) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	map_tracker_done(&tracker);
	if (r < 0) {
		mappings_done(&mappings);
		return r;
	}
	put_in_order(&mappings);
	*ret_mappings = mappings;
	return 0;
}

bool mapping_takes_filter(const char *name)
{
	return filter_parts_of(name) & FILTER_MAPS;
}

/* Presents a mapping as a block with one row, so that filters mean the same for both. */
static bool mappings_passes(const struct matcher *matcher, const struct mapping *m)
{
	uint64_t address = m->address, size = m->size, birth = m->mapped_ns, death = m->unmapped_ns;
	uint32_t stack = m->source ? m->source->stack : 0, death_stack = m->end ? m->end->stack : 0,
		 thread = m->source ? m->source->thread : 0;
	uint8_t end = death == NO_TIME ? BLOCK_IN_USE : BLOCK_FREED;
	struct row_block block = {
		.count = 1,
		.address = &address,
		.size = &size,
		.birth_ns = &birth,
		.death_ns = &death,
		.stack = &stack,
		.death_stack = &death_stack,
		.thread = &thread,
		.end = &end,
	};

	return !matcher->filter->before_start && matcher_row(matcher, &block, 0);
}

int query_mappings_match(struct view *view, const struct filter *filter,
			 const struct mappings *mappings, bool **ret_passes, struct err_text *err)
{
	cleanup(cleanup_free) bool *list = calloc(mappings->count + 1, sizeof(*list));
	struct filter alone = *filter;
	struct matcher matcher;
	int r;

	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	/* A mapping is one mapping however often it was moved, so it is all of its chain. */
	if (alone.lifetime == LIFETIME_ONLY_CHAIN_LEAKED)
		alone.lifetime = LIFETIME_ONLY_LEAKED;
	r = matcher_init(&matcher, view, &alone, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < mappings->count; i++)
		list[i] = mappings_passes(&matcher, &mappings->list[i]);
	matcher_done(&matcher);
	*ret_passes = take_ptr(list);
	return 0;
}
