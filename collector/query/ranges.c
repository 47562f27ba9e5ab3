/* The program's own mappings. See ranges.h. */
#include "collector/query/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/store.h"
#include "proto/event.h"

#include "base/ban.h"

void ranges_init(struct ranges *r, const struct recording *recording)
{
	*r = (struct ranges){.recording = recording};
}

void ranges_done(struct ranges *r)
{
	free(r->list);
	free(r->live);
	*r = (struct ranges){0};
}

/* Position in `live` of the first range that ends behind the address. */
static size_t first_behind(const struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->live_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->list[r->live[middle]].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t ranges_find(const struct ranges *r, uint64_t address)
{
	size_t at = first_behind(r, address);

	return at < r->live_count && r->list[r->live[at]].start <= address ? r->live[at] : SIZE_MAX;
}

static int make_room(struct ranges *r)
{
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? r->capacity * 2 : 256;
		struct range *list = reallocarray(r->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		r->list = list;
		r->capacity = capacity;
	}
	if (r->live_count == r->live_capacity) {
		size_t capacity = r->live_capacity ? r->live_capacity * 2 : 256;
		uint32_t *live = reallocarray(r->live, capacity, sizeof(*live));

		if (!live)
			return -ENOMEM;
		r->live = live;
		r->live_capacity = capacity;
	}
	return 0;
}

/* The place in `live` must be free of overlap. */
static int add(struct ranges *r, struct range range)
{
	size_t at = first_behind(r, range.start);

	if (range.start >= range.end || r->live_count == RANGES_LIVE_MAX || r->count == UINT32_MAX)
		return 0;
	if (make_room(r) < 0)
		return -ENOMEM;
	memmove(r->live + at + 1, r->live + at, (r->live_count - at) * sizeof(*r->live));
	r->live[at] = (uint32_t)r->count;
	r->live_count++;
	r->list[r->count++] = range;
	return 0;
}

static void remove_at(struct ranges *r, size_t at)
{
	r->live_count--;
	memmove(r->live + at, r->live + at + 1, (r->live_count - at) * sizeof(*r->live));
}

/* Takes [start, end) out of the live ranges, by the call `by`. */
static int cut(struct ranges *r, uint64_t start, uint64_t end, const struct apart_info *by)
{
	size_t at = first_behind(r, start);

	while (at < r->live_count && r->list[r->live[at]].start < end) {
		struct range *range = &r->list[r->live[at]], rest = *range;

		if (range->start >= start && range->end <= end) {
			range->ended = by;
			remove_at(r, at);
			continue;
		}
		if (range->start >= start) {
			range->start = end;
			return 0;
		}
		range->end = start;
		if (rest.end > end) {
			rest.start = end;
			return add(r, rest);
		}
		at++;
	}
	return 0;
}

static int take(struct ranges *r, const struct apart_info *call)
{
	uint64_t end;

	if (event_space(call->kind) != EVENT_SPACE_MAPPED || !call->address ||
	    __builtin_add_overflow(call->address, call->size, &end))
		return 0;
	if (cut(r, call->address, end, call) < 0)
		return -ENOMEM;
	if (event_class(call->kind) == EVENT_CLASS_FREE)
		return 0;
	return add(r, (struct range){call->address, end, call, NULL});
}

int ranges_advance(struct ranges *r, uint64_t until_ns)
{
	const struct apart_info *call;

	while ((call = recording_apart(r->recording, r->next)) && call->time_ns <= until_ns) {
		if (take(r, call) < 0)
			return -ENOMEM;
		r->next++;
	}
	return 0;
}
