/* Reconciles mappings with readings. See map_readings.h. */
#include "collector/query/match/map_readings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/event.h"

#include "base/ban.h"

void map_readings_done(struct map_readings *m)
{
	free(m->changed.list);
	free(m->used.list);
	free(m->calls.list);
}

/* ---- extents ---- */

static int add_extent(struct map_extents *e, uint64_t start, uint64_t end)
{
	if (array_reserve(&e->list, &e->capacity, (uint64_t)e->count + 1, sizeof(*e->list)) < 0)
		return -ENOMEM;
	e->list[e->count++] = (struct map_extent){start, end};
	return 0;
}

static int map_readings_by_start(const void *a, const void *b)
{
	const struct map_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the ranges and merges those that overlap, so that each address is examined once. */
static void sort_extents(struct map_extents *e)
{
	uint32_t kept = 0;

	if (e->count)
		qsort(e->list, e->count, sizeof(*e->list), map_readings_by_start);
	for (uint32_t i = 0; i < e->count; i++) {
		struct map_extent *last = kept ? &e->list[kept - 1] : NULL;

		if (last && e->list[i].start < last->end)
			last->end = e->list[i].end > last->end ? e->list[i].end : last->end;
		else
			e->list[kept++] = e->list[i];
	}
	e->count = kept;
}

/* ---- doubt ---- */

static int add_call(struct map_extents *e, const struct other_event_info *call)
{
	if (event_space(call->kind) != EVENT_SPACE_MAPPED)
		return 0;
	return add_extent(e, call->address,
			  call->size > UINT64_MAX - call->address ? UINT64_MAX
								  : call->address + call->size);
}

/* Finds both the calls that the tracker has already taken, and later ones. */
static int find_calls(struct map_readings *m)
{
	const struct map_tracker *t = m->tracker;
	const uint64_t doubt = MAP_READINGS_DOUBT_NS;
	uint64_t from_ns = m->now_ns > doubt ? m->now_ns - doubt : 0;
	const struct other_event_info *call;
	int r = 0;

	m->calls.count = 0;
	m->calls_known = true;
	for (uint32_t i = t->next; !r && (call = recording_other_event(t->recording, i)) &&
				   call->time_ns <= m->now_ns + doubt;
	     i++)
		r = add_call(&m->calls, call);
	for (uint32_t i = t->next; !r && i-- > 0 &&
				   (call = recording_other_event(t->recording, i)) &&
				   call->time_ns >= from_ns;)
		r = add_call(&m->calls, call);
	sort_extents(&m->calls);
	return r;
}

/* Returns 1 if a call close to the reading affects these addresses; the next reading then examines
 * them again. Returns 0 if not, or -ENOMEM. */
static int doubtful(struct map_readings *m, uint64_t start, uint64_t end)
{
	uint32_t low = 0, high;
	int r = m->calls_known ? 0 : find_calls(m);

	if (r < 0)
		return r;
	for (high = m->calls.count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (m->calls.list[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == m->calls.count || m->calls.list[low].start >= end)
		return 0;
	return add_extent(&m->changed, start, end) < 0 ? -ENOMEM : 1;
}

/* ---- which region lies where ---- */

static uint64_t map_readings_end_of(const struct mapping_region *r)
{
	return r->address + r->size;
}

/* Returns the first kernel region that ends behind the address. */
static size_t kernel_behind(const struct maps_state *s, uint64_t address)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->region[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the look of the region at this address. Returns -ENOMEM without memory. */
static int map_readings_look_at(struct map_readings *m, const struct map_region *k,
				uint64_t address, struct mapping_look *ret_look)
{
	struct strings *names = &m->tracker->to->names;
	uint32_t name = strings_put(names, k->name, strlen(k->name));

	if (!name)
		return -ENOMEM;
	*ret_look = (struct mapping_look){
		.offset = k->inode ? k->offset + (address - k->start) : k->offset,
		.inode = k->inode,
		.major = k->major,
		.minor = k->minor,
		.flags = k->flags,
		.name = strings_at(names, name),
	};
	return 0;
}

static bool same_thing(const struct mapping_look *a, const struct mapping_look *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       (!a->inode || a->offset == b->offset) && a->name == b->name;
}

static bool is_nobodys(const struct map_tracker *t, const struct mapping_region *r)
{
	return !t->to->list[r->mapping].source;
}

/* Removes these addresses from the region at this position. Returns 1 if they are in doubt; then
 * the region stays. */
static int map_readings_lose(struct map_readings *m, uint32_t at, uint64_t start, uint64_t end)
{
	const struct mapping_region *r = map_tracker_region(m->tracker, at);
	bool front = start == r->address, back = end == map_readings_end_of(r);

	int e = doubtful(m, start, end);

	if (e)
		return e;
	if (is_nobodys(m->tracker, r) && front != back) {
		map_tracker_resize(m->tracker, at, front ? end : r->address,
				   front ? map_readings_end_of(r) : start);
		return 0;
	}
	return map_tracker_cut(m->tracker, start, end, m->now_ns, NULL);
}

/* Updates the look of the region at this position, which lies within one kernel region. */
static int compare_look(struct map_readings *m, uint32_t at, const struct map_region *k)
{
	const struct mapping_region *r = map_tracker_region(m->tracker, at);
	struct mapping_look look;
	int e = map_readings_look_at(m, k, r->address, &look);

	if (e < 0 || (r->seen && same_thing(&r->look, &look) && r->look.flags == look.flags))
		return e;
	/* A mapping without a call is identified by its look: a different file or name is a
	 * different mapping. */
	if (r->seen && is_nobodys(m->tracker, r) && !same_thing(&r->look, &look))
		return map_tracker_cut(m->tracker, r->address, map_readings_end_of(r), m->now_ns,
				       NULL);
	return map_tracker_change(m->tracker, at, m->now_ns, &look);
}

/*
 * Reconciles the region at this position with the kernel's regions. Parts that the kernel does not
 * have are removed. Where another kernel region begins, the region is split. Moves the position
 * past the part that was handled.
 */
static int map_readings_settle(struct map_readings *m, uint32_t *at)
{
	const struct mapping_region *r = map_tracker_region(m->tracker, *at);
	size_t i = kernel_behind(m->state, r->address);
	const struct map_region *k = i < m->state->count ? &m->state->region[i] : NULL;
	uint64_t start = r->address, end = map_readings_end_of(r), behind;
	int e = 0;

	if (!k || k->start >= end) {
		behind = end;
		e = map_readings_lose(m, *at, start, end);
	} else if (k->start > start) {
		e = map_readings_lose(m, *at, start, k->start);
		behind = e == 1 ? end : k->start;
	} else if (k->end < end) {
		behind = k->end;
		e = map_tracker_split(m->tracker, *at, k->end);
		if (!e)
			e = compare_look(m, *at, k);
	} else {
		behind = end;
		e = compare_look(m, *at, k);
	}
	*at = map_tracker_behind(m->tracker, behind - 1);
	if (*at < m->tracker->live_count && map_tracker_region(m->tracker, *at)->address < behind)
		++*at;
	return e < 0 ? e : 0;
}

/* Handles a kernel range without a call. It extends a neighbouring region without a call, or
 * becomes a mapping of its own. */
static int map_readings_fill(struct map_readings *m, const struct map_region *k, uint64_t start,
			     uint64_t end)
{
	uint32_t at = map_tracker_behind(m->tracker, start);
	struct mapping_look look;
	int e = doubtful(m, start, end);

	if (e)
		return e < 0 ? e : 0;
	e = map_readings_look_at(m, k, start, &look);
	if (e < 0)
		return e;
	for (uint32_t i = at ? at - 1 : 0; i <= at && i < m->tracker->live_count; i++) {
		const struct mapping_region *r = map_tracker_region(m->tracker, i);
		struct mapping_look there = r->look;

		if (!is_nobodys(m->tracker, r) || r->address < k->start ||
		    map_readings_end_of(r) > k->end ||
		    (map_readings_end_of(r) != start && r->address != end))
			continue;
		if (there.inode)
			there.offset += start - r->address;
		if (!same_thing(&there, &look))
			continue;
		map_tracker_resize(m->tracker, i,
				   map_readings_end_of(r) == start ? r->address : start,
				   map_readings_end_of(r) == start ? end : map_readings_end_of(r));
		return map_tracker_touch(m->tracker, r->mapping);
	}
	return map_tracker_add(m->tracker, start, end, m->now_ns, &look);
}

static int fill_gaps(struct map_readings *m, const struct map_region *k)
{
	int e = 0;

	for (uint64_t at = k->start; !e && at < k->end;) {
		uint32_t next = map_tracker_behind(m->tracker, at);
		const struct mapping_region *r =
			next < m->tracker->live_count ? map_tracker_region(m->tracker, next) : NULL;
		uint64_t start = r && r->address < k->end ? r->address : k->end,
			 behind = start < k->end ? map_readings_end_of(r) : k->end;

		if (start > at)
			e = map_readings_fill(m, k, at, start);
		at = behind;
	}
	return e;
}

static int reconcile(struct map_readings *m, const struct map_extent *extent)
{
	int e = 0;

	for (uint32_t at = map_tracker_behind(m->tracker, extent->start);
	     !e && at < m->tracker->live_count &&
	     map_tracker_region(m->tracker, at)->address < extent->end;)
		e = map_readings_settle(m, &at);
	for (size_t i = kernel_behind(m->state, extent->start);
	     !e && i < m->state->count && m->state->region[i].start < extent->end; i++)
		e = fill_gaps(m, &m->state->region[i]);
	return e;
}

/* ---- usage ---- */

#define USAGE_NUMBERS (sizeof(struct map_usage) / sizeof(uint64_t))

/* Returns the share of a number for [from, to) of `whole`. All shares add up to the number. */
static uint64_t share(uint64_t kib, uint64_t from, uint64_t to, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)kib * to / whole) -
	       (uint64_t)((unsigned __int128)kib * from / whole);
}

/* The live regions [first, end) that lie in one kernel region. */
struct joined {
	const struct map_region *k;
	uint32_t first, end;
	uint64_t gap; /* bytes of the kernel region that belong to no mapping yet */
	bool several; /* not exactly one mapping: the reading's parts are estimates */
};

static struct joined map_readings_join(const struct map_readings *m, const struct map_region *k)
{
	struct joined j = {.k = k, .first = map_tracker_behind(m->tracker, k->start)};
	uint64_t covered = 0;

	for (j.end = j.first; j.end < m->tracker->live_count; j.end++) {
		const struct mapping_region *r = map_tracker_region(m->tracker, j.end);

		if (r->address >= k->end)
			break;
		j.several |= r->mapping != map_tracker_region(m->tracker, j.first)->mapping ||
			     r->address < k->start || map_readings_end_of(r) > k->end;
		covered += r->size;
	}
	j.gap = less(k->end - k->start, covered);
	j.several |= j.gap != 0;
	return j;
}

static uint64_t *map_readings_number_of(struct map_usage *usage, size_t n)
{
	return (uint64_t *)usage + n;
}

static uint64_t had(struct mapping_region *r, size_t n)
{
	return r->read ? *map_readings_number_of(&r->usage, n) : 0;
}

/* An increase is divided in proportion to the room left in each region, a decrease in proportion to
 * the previous amounts. */
static uint64_t weight(struct mapping_region *r, size_t n, bool more)
{
	return more ? less(r->size / 1024, had(r, n)) + 1 : had(r, n);
}

static void part_number(struct map_readings *m, const struct joined *j, size_t n)
{
	uint64_t all = ((const uint64_t *)&j->k->usage)[n], before = 0, whole = 0, at = 0;
	bool more;

	for (uint32_t i = j->first; i < j->end; i++)
		before += had(map_tracker_region(m->tracker, i), n);
	more = all >= before;
	for (uint32_t i = j->first; i < j->end; i++)
		whole += weight(map_tracker_region(m->tracker, i), n, more);
	whole += more ? j->gap / 1024 : 0;
	for (uint32_t i = j->first; i < j->end; i++) {
		struct mapping_region *r = map_tracker_region(m->tracker, i);
		uint64_t own = weight(r, n, more), base = more ? had(r, n) : 0;

		*map_readings_number_of(&r->usage, n) =
			base + (whole ? share(more ? all - before : all, at, at + own, whole) : 0);
		at += own;
	}
}

/* Divides a reading among the regions it covers. The result is an estimate if these belong to
 * several mappings, or if the reading also covers addresses in doubt. */
static int part_usage(struct map_readings *m, const struct map_region *k)
{
	struct joined j = map_readings_join(m, k);
	int e = 0;

	for (size_t n = 0; n < USAGE_NUMBERS; n++)
		part_number(m, &j, n);
	for (uint32_t i = j.first; !e && i < j.end; i++) {
		struct mapping_region *r = map_tracker_region(m->tracker, i);

		r->read = true;
		r->estimated = j.several;
		e = map_tracker_touch(m->tracker, r->mapping);
	}
	return e;
}

static void map_readings_add_usage(struct mapping_usage *sum, const struct mapping_region *r)
{
	uint64_t *to = (uint64_t *)&sum->usage;
	const uint64_t *from = (const uint64_t *)&r->usage;

	for (size_t i = 0; i < USAGE_NUMBERS; i++)
		to[i] += from[i];
	sum->read |= r->read;
	sum->estimated |= r->estimated && r->read;
}

static int map_readings_note(struct map_readings *m, uint32_t mapping, struct mapping_usage *sum)
{
	struct mapping *of = &m->tracker->to->list[mapping];

	of->touched = false;
	sum->mapping = mapping;
	sum->time_ns = m->now_ns;
	sum->size_bytes = of->live_bytes;
	if (sum->usage.rss * 1024 > of->peak_rss) {
		of->peak_rss = sum->usage.rss * 1024;
		of->peak_estimated = sum->estimated;
	}
	return sum->read ? map_tracker_note(m->tracker, sum) : 0;
}

static int map_readings_compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Notes the usage of all mappings for which it has changed, as the sum of their regions. */
static int note_touched(struct map_readings *m)
{
	struct map_tracker *t = m->tracker;
	struct mapping_usage *sums;
	int e = 0;

	if (!t->touched_count)
		return 0;
	sums = calloc(t->touched_count, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	qsort(t->touched, t->touched_count, sizeof(*t->touched), map_readings_compare_numbers);
	for (uint32_t i = 0; i < t->live_count; i++) {
		const struct mapping_region *r = map_tracker_region(t, i);
		const uint32_t *at;

		if (!t->to->list[r->mapping].touched)
			continue;
		at = bsearch(&r->mapping, t->touched, t->touched_count, sizeof(*t->touched),
			     map_readings_compare_numbers);
		if (at)
			map_readings_add_usage(&sums[at - t->touched], r);
	}
	for (uint32_t i = 0; !e && i < t->touched_count; i++)
		e = map_readings_note(m, t->touched[i], &sums[i]);
	t->touched_count = 0;
	free(sums);
	return e;
}

/* ---- readings ---- */

void map_readings_news(void *readings, enum map_news what, const struct map_region *r,
		       uint64_t time_ns)
{
	struct map_readings *m = readings;

	(void)time_ns;
	m->failed |=
		add_extent(what == MAP_NEWS_USED ? &m->used : &m->changed, r->start, r->end) < 0;
}

/* A misbehaving agent may send regions that overlap. Nothing can be concluded from them. */
static bool overlap(const struct maps_state *s)
{
	for (size_t i = 1; i < s->count; i++)
		if (s->region[i].start < s->region[i - 1].end)
			return true;
	return false;
}

/* Reconciles what the reading changed, and what was in doubt before. */
static int reconcile_all(struct map_readings *m)
{
	struct map_extents changed = m->changed;
	int e = 0;

	m->changed = (struct map_extents){0}; /* collects what is in doubt now */
	sort_extents(&changed);
	for (uint32_t i = 0; !e && i < changed.count; i++)
		e = reconcile(m, &changed.list[i]);
	free(changed.list);
	return e;
}

static int part_all_usage(struct map_readings *m)
{
	int e = 0;

	sort_extents(&m->used);
	for (uint32_t i = 0; !e && i < m->used.count; i++) {
		const struct map_extent *used = &m->used.list[i];

		for (size_t k = kernel_behind(m->state, used->start);
		     !e && k < m->state->count && m->state->region[k].start < used->end; k++)
			e = part_usage(m, &m->state->region[k]);
	}
	m->used.count = 0;
	return e;
}

int map_readings_complete(void *readings, const struct maps_state *state)
{
	struct map_readings *m = readings;
	int e = m->failed ? -ENOMEM : map_tracker_advance(m->tracker, state->time_ns);

	/* After an exec all regions are new, even those that look the same. */
	if (!e && m->execs != m->tracker->execs)
		e = add_extent(&m->changed, 0, UINT64_MAX);
	m->execs = m->tracker->execs;
	if (e || overlap(state))
		return e;
	m->state = state;
	m->now_ns = state->time_ns;
	m->calls_known = false;
	e = reconcile_all(m);
	if (!e)
		e = part_all_usage(m);
	return e ? e : note_touched(m);
}

int map_readings_follow(struct map_tracker *tracker, const char *path, const struct cancel *cancel,
			struct err_text *err)
{
	struct map_readings m = {.tracker = tracker};
	struct maps_state state = {
		.news = map_readings_news, .complete = map_readings_complete, .context = &m};
	int r = maps_follow(path, NO_TIME, cancel, &state, NULL, err);

	tracker->to->gathered = state.steps;
	maps_state_done(&state);
	map_readings_done(&m);
	return r;
}
