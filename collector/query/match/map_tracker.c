/* Follows mappings through calls. See map_tracker.h. */
#include "collector/query/match/map_tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "proto/event.h"

#include "base/ban.h"

#define NO_MAPPING UINT32_MAX

void map_tracker_done(struct map_tracker *t)
{
	free(t->live);
	free(t->touched);
}

/* ---- live regions ---- */

static uint64_t map_tracker_end_of(const struct mapping_region *r)
{
	return r->address + r->size;
}

uint32_t map_tracker_behind(const struct map_tracker *t, uint64_t address)
{
	uint32_t low = 0, high = t->live_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map_tracker_end_of(map_tracker_region(t, middle)) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int map_tracker_touch(struct map_tracker *t, uint32_t mapping)
{
	struct mapping *m = &t->to->list[mapping];

	if (m->touched)
		return 0;
	if (array_reserve(&t->touched, &t->touched_capacity, (uint64_t)t->touched_count + 1,
			  sizeof(*t->touched)) < 0)
		return -ENOMEM;
	m->touched = true;
	t->touched[t->touched_count++] = mapping;
	return 0;
}

/* The place must be free. A region that finds no room is in no list. Its mapping still counts it,
 * and thus never ends. */
static int add_region(struct map_tracker *t, const struct mapping_region *region)
{
	struct mappings *to = t->to;
	struct mapping *m = &to->list[region->mapping];
	uint32_t at = map_tracker_behind(t, region->address);

	m->live_regions++;
	m->live_bytes += region->size;
	if (to->region_count == MAPPINGS_REGIONS_MAX || t->live_count == MAP_TRACKER_LIVE_MAX) {
		to->left_out++;
		return 0;
	}
	if (array_reserve(&to->regions, &to->region_capacity, (uint64_t)to->region_count + 1,
			  sizeof(*to->regions)) < 0 ||
	    array_reserve(&t->live, &t->live_capacity, (uint64_t)t->live_count + 1,
			  sizeof(*t->live)) < 0)
		return -ENOMEM;
	memmove(t->live + at + 1, t->live + at, (t->live_count - at) * sizeof(*t->live));
	t->live[at] = to->region_count;
	t->live_count++;
	to->regions[to->region_count++] = *region;
	m->region_count++;
	return map_tracker_touch(t, region->mapping);
}

/* *ret_index is NO_MAPPING if there are too many mappings. */
static int add_mapping(struct map_tracker *t, const struct mapping *mapping, uint32_t *ret_index)
{
	struct mappings *to = t->to;

	*ret_index = NO_MAPPING;
	if (to->count == MAPPINGS_MAX) {
		to->left_out++;
		return 0;
	}
	if (array_reserve(&to->list, &to->capacity, (uint64_t)to->count + 1, sizeof(*to->list)) < 0)
		return -ENOMEM;
	*ret_index = to->count;
	to->list[to->count++] = *mapping;
	return 0;
}

/* ---- changes ---- */

/* Ends the region at this position; `start` and `end` are the part that the call took. */
static int end_region(struct map_tracker *t, uint32_t at, uint64_t time_ns,
		      const struct other_event_info *call, uint64_t start, uint64_t end)
{
	struct mapping_region *r = map_tracker_region(t, at);
	struct mapping *m = &t->to->list[r->mapping];

	r->to_ns = time_ns;
	r->end = call;
	r->end_address = start;
	r->end_size = end - start;
	m->live_regions--;
	m->live_bytes -= r->size;
	t->live_count--;
	memmove(t->live + at, t->live + at + 1, (t->live_count - at) * sizeof(*t->live));
	return map_tracker_touch(t, r->mapping);
}

static uint64_t map_tracker_part_of(uint64_t kib, uint64_t size, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)kib * size / whole);
}

/* Returns a part of a region that begins at `time_ns`. */
static struct mapping_region piece_of(const struct mapping_region *r, uint64_t start, uint64_t end,
				      uint64_t time_ns)
{
	struct mapping_region piece = *r;
	uint64_t *of = (uint64_t *)&piece.usage, size = end - start;

	_Static_assert(sizeof(piece.usage) % sizeof(*of) == 0, "it consists of such numbers");
	piece.address = start;
	piece.size = size;
	piece.from_ns = time_ns;
	piece.to_ns = NO_TIME;
	piece.end = NULL;
	if (piece.look.inode)
		piece.look.offset += start - r->address;
	piece.estimated |= size != r->size;
	for (size_t i = 0; i < sizeof(piece.usage) / sizeof(*of); i++)
		of[i] = map_tracker_part_of(of[i], size, r->size);
	return piece;
}

static void end_mapping(struct map_tracker *t, uint32_t mapping, uint64_t time_ns,
			const struct other_event_info *call)
{
	struct mapping *m = &t->to->list[mapping];

	if (m->live_regions)
		return;
	m->unmapped_ns = time_ns;
	m->end = call;
}

static void remember_end(struct map_tracker *t, const struct other_event_info *call,
			 uint32_t mapping)
{
	t->ended[t->ended_count % MAP_TRACKER_ENDED].call = call;
	t->ended[t->ended_count % MAP_TRACKER_ENDED].mapping = mapping;
	t->ended_count++;
}

int map_tracker_cut(struct map_tracker *t, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct other_event_info *call)
{
	uint32_t at = map_tracker_behind(t, start);
	int r = 0;

	while (!r && at < t->live_count && map_tracker_region(t, at)->address < end) {
		struct mapping_region whole = *map_tracker_region(t, at), piece;
		uint64_t from = whole.address > start ? whole.address : start,
			 to = map_tracker_end_of(&whole) < end ? map_tracker_end_of(&whole) : end;

		r = end_region(t, at, time_ns, call, from, to);
		if (!r && whole.address < from) {
			piece = piece_of(&whole, whole.address, from, time_ns);
			r = add_region(t, &piece);
			at = map_tracker_behind(t, start);
		}
		if (!r && to < map_tracker_end_of(&whole)) {
			piece = piece_of(&whole, to, map_tracker_end_of(&whole), time_ns);
			r = add_region(t, &piece);
		}
		end_mapping(t, whole.mapping, time_ns, call);
		if (call)
			remember_end(t, call, whole.mapping);
	}
	return r;
}

int map_tracker_add(struct map_tracker *t, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct mapping_look *look)
{
	uint32_t index;
	int r = add_mapping(t,
			    &(struct mapping){.address = start,
					      .size = end - start,
					      .mapped_ns = time_ns,
					      .unmapped_ns = NO_TIME,
					      .seen = true,
					      .look = *look},
			    &index);

	if (r < 0 || index == NO_MAPPING)
		return r;
	return add_region(t, &(struct mapping_region){.mapping = index,
						      .seen = true,
						      .read = true,
						      .address = start,
						      .size = end - start,
						      .from_ns = time_ns,
						      .to_ns = NO_TIME,
						      .look = *look});
}

int map_tracker_split(struct map_tracker *t, uint32_t at, uint64_t address)
{
	struct mapping_region whole = *map_tracker_region(t, at),
			      second = piece_of(&whole, address, map_tracker_end_of(&whole),
						whole.from_ns);

	*map_tracker_region(t, at) = piece_of(&whole, whole.address, address, whole.from_ns);
	t->to->list[whole.mapping].live_bytes -= second.size;
	return add_region(t, &second);
}

int map_tracker_change(struct map_tracker *t, uint32_t at, uint64_t time_ns,
		       const struct mapping_look *look)
{
	struct mapping_region *region = map_tracker_region(t, at), next = *region;
	struct mapping *m = &t->to->list[region->mapping];
	int r;

	m->look = *look;
	m->seen = true;
	if (!region->seen) {
		region->look = *look;
		/* Readings omit a usage of 0, so 0 counts as read. */
		region->seen = region->read = true;
		return map_tracker_touch(t, region->mapping);
	}
	next.from_ns = time_ns;
	next.look = *look;
	r = end_region(t, at, time_ns, NULL, 0, 0);
	return r ? r : add_region(t, &next);
}

void map_tracker_resize(struct map_tracker *t, uint32_t at, uint64_t start, uint64_t end)
{
	struct mapping_region *r = map_tracker_region(t, at);
	struct mapping *m = &t->to->list[r->mapping];

	m->live_bytes += (end - start) - r->size;
	if (r->look.inode)
		r->look.offset += start - r->address;
	r->address = start;
	r->size = end - start;
	if (m->live_regions == 1) {
		m->address = start;
		m->size = end - start;
	}
}

/* ---- usage ---- */

int map_tracker_note(struct map_tracker *t, const struct mapping_usage *usage)
{
	struct mappings *to = t->to;

	if (!t->with_usage)
		return 0;
	if (to->usage_count == MAPPINGS_USAGE_MAX) {
		to->usage_left_out++;
		return 0;
	}
	if (array_reserve(&to->usage, &to->usage_capacity, (uint64_t)to->usage_count + 1,
			  sizeof(*to->usage)) < 0)
		return -ENOMEM;
	to->usage[to->usage_count++] = *usage;
	return 0;
}

static int note_sizes(struct map_tracker *t, uint64_t time_ns)
{
	int r = 0;

	for (; !r && t->touched_count; t->touched_count--) {
		uint32_t mapping = t->touched[t->touched_count - 1];
		struct mapping *m = &t->to->list[mapping];

		m->touched = false;
		if (m->live_regions)
			r = map_tracker_note(t,
					     &(struct mapping_usage){.mapping = mapping,
								     .time_ns = time_ns,
								     .size_bytes = m->live_bytes});
	}
	return r;
}

/* ---- calls ---- */

/* Finds the mapping that an mremap continues. The recording splits an mremap into an unmapping and
 * a mapping; the unmapping is the last one of the same thread. */
static uint32_t moved_by(const struct map_tracker *t, const struct other_event_info *call)
{
	for (uint32_t i = 0; call->old_address && i < t->ended_count && i < MAP_TRACKER_ENDED;
	     i++) {
		uint32_t at = (t->ended_count - 1 - i) % MAP_TRACKER_ENDED;
		const struct other_event_info *half = t->ended[at].call;

		if (half->thread == call->thread)
			return half->address == call->old_address &&
					       event_class(half->kind) == EVENT_CLASS_FREE
				       ? t->ended[at].mapping
				       : NO_MAPPING;
	}
	return NO_MAPPING;
}

static int map_tracker_place(struct map_tracker *t, const struct other_event_info *call,
			     uint32_t moved)
{
	struct mapping_region region = {.mapping = moved,
					.address = call->address,
					.size = call->size,
					.from_ns = call->time_ns,
					.to_ns = NO_TIME,
					.look.name = ""};
	int r = 0;

	if (moved == NO_MAPPING) {
		r = add_mapping(t,
				&(struct mapping){.address = call->address,
						  .size = call->size,
						  .mapped_ns = call->time_ns,
						  .unmapped_ns = NO_TIME,
						  .look.name = "",
						  .source = call},
				&region.mapping);
		if (r < 0 || region.mapping == NO_MAPPING)
			return r;
	} else {
		struct mapping *m = &t->to->list[moved];

		if (!m->live_regions) { /* else a part of the mapping has not moved */
			m->address = call->address;
			m->size = call->size;
		}
		m->unmapped_ns = NO_TIME;
		m->end = NULL;
	}
	return add_region(t, &region);
}

static int map_tracker_take(struct map_tracker *t, const struct other_event_info *call)
{
	uint32_t moved;
	uint64_t end;
	int r;

	if (event_space(call->kind) != EVENT_SPACE_MAPPED || !call->address || !call->size ||
	    __builtin_add_overflow(call->address, call->size, &end))
		return 0;
	moved = moved_by(t, call);
	r = map_tracker_cut(t, call->address, end, call->time_ns, call);
	if (!r && event_class(call->kind) != EVENT_CLASS_FREE)
		r = map_tracker_place(t, call, moved);
	return !r && t->sizes ? note_sizes(t, call->time_ns) : r;
}

/* An exec ends all mappings of the previous program. */
static int take_execs(struct map_tracker *t, uint64_t until_ns)
{
	const struct mark_info *mark;
	int r = 0;

	for (;
	     !r && (mark = recording_mark(t->recording, t->next_mark)) && mark->time_ns <= until_ns;
	     t->next_mark++) {
		if (mark->kind != HEAPCAST__MARK_KIND__MARK_EXEC)
			continue;
		t->execs++;
		r = map_tracker_cut(t, 0, UINT64_MAX, mark->time_ns, NULL);
	}
	return r;
}

int map_tracker_advance(struct map_tracker *t, uint64_t until_ns)
{
	const struct other_event_info *call;
	int r = 0;

	while (!r && (call = recording_other_event(t->recording, t->next)) &&
	       call->time_ns <= until_ns) {
		r = take_execs(t, call->time_ns);
		if (!r)
			r = map_tracker_take(t, call);
		if (!r)
			t->next++;
	}
	return r ? r : take_execs(t, until_ns);
}
