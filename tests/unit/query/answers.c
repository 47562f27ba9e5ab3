/*
 * The oracle's other questions (see oracle.c): usage over time, sizes and lifetimes, leaks by
 * survival, two moments held against each other, groups with their peaks, how blocks lie on pages,
 * what is in use at many moments, mappings, places. Of the same random programs, received by the
 * same store that is killed, with the same random filters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/sweep/events.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/sums/live.h"
#include "collector/query/match/mappings.h"
#include "tests/unit/query/asked.h"
#include "proto/columns.h"
#include "proto/culled.h"

#define ROUNDS	    16
#define ROUNDS_FULL 2000
#define QUESTIONS   4 /* of each program */
#define MOMENTS	    20
#define PAGE	    4096

/* ---- over time ---- */

struct change {
	uint64_t time_ns;
	int64_t bytes, blocks;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Births and deaths of what matches; free it. */
static struct change *list_changes(const struct asked *a, bool leaked_only, size_t *ret_count)
{
	struct change *list = calloc(2 * a->n.rows.count + 1, sizeof(*list));
	size_t count = 0;

	assert_non_null(list);
	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		if (!a->n.match[i] || (leaked_only && r->end != BLOCK_IN_USE))
			continue;
		list[count++] = (struct change){r->birth, (int64_t)r->size, 1};
		if (r->death != NO_TIME)
			list[count++] = (struct change){r->death, -(int64_t)r->size, -1};
	}
	qsort(list, count, sizeof(*list), by_time);
	*ret_count = count;
	return list;
}

struct course {
	uint64_t bytes, blocks, bytes_min, bytes_max, blocks_min, blocks_max, births, deaths, born,
		freed;
};

static void note_extremes(struct course *c)
{
	c->bytes_min = c->bytes < c->bytes_min ? c->bytes : c->bytes_min;
	c->bytes_max = c->bytes > c->bytes_max ? c->bytes : c->bytes_max;
	c->blocks_min = c->blocks < c->blocks_min ? c->blocks : c->blocks_min;
	c->blocks_max = c->blocks > c->blocks_max ? c->blocks : c->blocks_max;
}

/* All that happens in a nanosecond is one step. What is in use at the start counts as an extreme,
 * too. */
static struct course course_of(const struct change *list, size_t count, uint64_t from, uint64_t to)
{
	struct course c = {.bytes_min = UINT64_MAX, .blocks_min = UINT64_MAX};
	bool begun = false;

	for (size_t i = 0; i < count && list[i].time_ns < to; i++) {
		bool inside = list[i].time_ns >= from,
		     last = i + 1 == count || list[i + 1].time_ns != list[i].time_ns;

		if (list[i].time_ns > from && !begun) {
			begun = true;
			note_extremes(&c);
		}
		c.bytes += (uint64_t)list[i].bytes;
		c.blocks += (uint64_t)list[i].blocks;
		c.births += inside && list[i].blocks > 0;
		c.deaths += inside && list[i].blocks < 0;
		c.born += inside && list[i].blocks > 0 ? (uint64_t)list[i].bytes : 0;
		c.freed += inside && list[i].blocks < 0 ? (uint64_t)-list[i].bytes : 0;
		if (inside && last)
			note_extremes(&c);
	}
	if (!begun)
		note_extremes(&c);
	return c;
}

static void check_timeline(struct asked *a, const struct filter *f)
{
	struct timeline_question q = {.to_ns = NO_TIME,
				      .buckets = 1 + (uint32_t)(test_random(&a->random) % 40)};
	struct timeline timeline;
	struct change *list;
	size_t count;

	if (test_random(&a->random) % 2)
		q.from_ns = test_random(&a->random) % a->end;
	if (test_random(&a->random) % 2)
		q.to_ns = q.from_ns + test_random(&a->random) % a->end;
	q.leaked_only = test_random(&a->random) % 3 == 0;
	list = list_changes(a, q.leaked_only, &count);
	assert_int_equal(query_timeline(a->t.view, f, &q, &timeline, NULL), 0);
	assert_in_range(timeline.count, 1, q.buckets);
	for (uint32_t i = 0; i < timeline.count; i++) {
		const struct timeline_bucket *b = &timeline.list[i];
		uint64_t end = i + 1 < timeline.count ? b[1].start_ns : timeline.to_ns;
		struct course c = course_of(list, count, b->start_ns, end);

		assert_int_equal(b->bytes, c.bytes);
		assert_int_equal(b->blocks, c.blocks);
		assert_int_equal(b->bytes_min, c.bytes_min);
		assert_int_equal(b->bytes_max, c.bytes_max);
		assert_int_equal(b->blocks_min, c.blocks_min);
		assert_int_equal(b->blocks_max, c.blocks_max);
		assert_int_equal(b->allocations, c.births);
		assert_int_equal(b->deallocations, c.deaths);
		assert_int_equal(b->allocated_bytes, c.born);
		assert_int_equal(b->freed_bytes, c.freed);
		assert_int_equal(b->blocks_change, (int64_t)c.births - (int64_t)c.deaths);
		assert_int_equal(b->bytes_change, (int64_t)c.born - (int64_t)c.freed);
	}
	timeline_done(&timeline);
	free(list);
}

static void check_moments(struct asked *a, const struct filter *f)
{
	uint64_t times[MOMENTS], bytes[MOMENTS];
	struct live_block *live;
	size_t count;

	for (unsigned i = 0; i < MOMENTS; i++)
		times[i] = a->end / MOMENTS * i + test_random(&a->random) % (a->end / MOMENTS);
	assert_int_equal(query_in_use_at(a->t.view, f, times, MOMENTS, bytes, NULL), 0);
	for (unsigned i = 0; i < MOMENTS; i++) {
		struct usage wanted = naive_sum(&a->n, VALUE_IN_USE, times[i], NAIVE_ALL);

		assert_int_equal(bytes[i], wanted.bytes);
		assert_int_equal(query_live(a->t.view, f, times[i], &live, &count, NULL), 0);
		assert_int_equal(count, wanted.blocks);
		for (size_t k = 1; k < count; k++)
			assert_true(live[k - 1].address <= live[k].address);
		free(live);
	}
}

/* Births and deaths one after the other: each of what matches. */
static void check_events(struct asked *a, const struct filter *f)
{
	struct query_events *events;
	struct block_event event;
	uint64_t births = 0, deaths = 0, last = 0;
	struct err_text err = {0};
	int r;

	assert_int_equal(
		query_events_new(a->t.view, f, test_random(&a->random) % 300, &events, NULL), 0);
	while ((r = query_events_next(events, &event, &err)) == 1) {
		const struct naive_row *row = &a->n.rows.list[event.row];

		assert_true(a->n.match[event.row] && event.time_ns >= last);
		assert_int_equal(event.time_ns, event.is_death ? row->death : row->birth);
		last = event.time_ns;
		births += !event.is_death;
		deaths += event.is_death;
	}
	if (r < 0)
		fail_msg("events of recording %llu: %s", (unsigned long long)a->seed,
			 err_get(&err, r));
	query_events_free(events);
	for (size_t i = 0; i < a->n.rows.count; i++) {
		births -= a->n.match[i];
		deaths -= a->n.match[i] && a->n.rows.list[i].death != NO_TIME;
	}
	assert_int_equal(births, 0);
	assert_int_equal(deaths, 0);
}

/* ---- sizes and lifetimes ---- */

static bool culled_matches(const struct asked *a, uint32_t i, enum value value)
{
	return a->n.culled_match[i] == CULLED_YES &&
	       (value == VALUE_ALLOCATED || value == VALUE_TEMPORARY);
}

static void check_size_class(const struct asked *a, const struct histogram_class *c,
			     enum value value, uint64_t at)
{
	struct usage all = {0}, leaked = {0};

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		if (!a->n.match[i] || !naive_counts(r, value, at) || r->size < c->from ||
		    r->size > c->to)
			continue;
		all.blocks++;
		all.bytes += r->size;
		leaked.blocks += r->end == BLOCK_IN_USE;
		leaked.bytes += r->end == BLOCK_IN_USE ? r->size : 0;
	}
	for (uint32_t i = 0; i < a->n.culled_count; i++) {
		if (!culled_matches(a, i, value) || a->n.culled[i].size_least < c->from ||
		    a->n.culled[i].size_least > c->to)
			continue;
		all.blocks += a->n.culled[i].blocks;
		all.bytes += a->n.culled[i].bytes;
	}
	asked_equal(a, "a class of sizes", &c->usage, &all);
	asked_equal(a, "leaked of a class of sizes", &c->leaked, &leaked);
}

static void check_lifetime_class(const struct asked *a, const struct histogram_class *c,
				 enum value value, uint64_t at)
{
	struct usage all = {0};

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];
		uint64_t lived = r->death - r->birth;

		if (!a->n.match[i] || !naive_counts(r, value, at) || !naive_freed(r) ||
		    lived < c->from || lived > c->to)
			continue;
		all.blocks++;
		all.bytes += r->size;
	}
	for (uint32_t i = 0; i < a->n.culled_count; i++) {
		uint64_t lived = culled_lifetime_least(a->n.culled[i].lifetime);

		if (!culled_matches(a, i, value) || lived < c->from || lived > c->to)
			continue;
		all.blocks += a->n.culled[i].blocks;
		all.bytes += a->n.culled[i].bytes;
	}
	asked_equal(a, "a class of lifetimes", &c->usage, &all);
}

static void check_histogram(struct asked *a, const struct filter *f)
{
	enum value value = (enum value)(test_random(&a->random) % VALUE_PEAK);
	uint64_t at = test_random(&a->random) % a->end, blocks = 0;
	struct usage total = naive_sum(&a->n, value, at, NAIVE_ALL);
	struct histogram h;

	assert_int_equal(query_histogram(a->t.view, f, value, at, &h, NULL), 0);
	asked_equal(a, "all of a histogram", &h.total, &total);
	for (size_t i = 0; i < h.size_count; i++) {
		check_size_class(a, &h.sizes[i], value, at);
		blocks += h.sizes[i].usage.blocks;
	}
	assert_int_equal(blocks, total.blocks);
	for (size_t i = 0; i < h.lifetime_count; i++)
		check_lifetime_class(a, &h.lifetimes[i], value, at);
	histogram_done(&h);
}

/* ---- survival: survival.c has the estimate ---- */

/* Two to each doubling of the time, from 1,024 ns on. */
static unsigned age_class(uint64_t age)
{
	uint64_t end = 1024;

	for (unsigned class = 0;; class ++) {
		if (age < end)
			return class;
		end += class % 2 ? end / 3 : end / 2;
	}
}

/* Without symbols a call site is the innermost frame. */
static const char *site_name(const struct asked *a, uint32_t node)
{
	return view_frame_name(a->t.view, node, 0);
}

static bool is_of_site(const struct asked *a, uint32_t stack, const char *site)
{
	return !strcmp(site_name(a, stack), site);
}

/* Of the site's blocks that reached the age, how many were freed later. */
static double chance_of(const struct asked *a, const char *site, unsigned class)
{
	uint64_t freed = 0, reached = 0;

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];
		uint64_t lived = (r->end == BLOCK_IN_USE ? a->n.rows.end_ns : r->death) - r->birth;

		if (!a->n.match[i] || !is_of_site(a, r->stack, site) || age_class(lived) < class)
			continue;
		freed += naive_freed(r);
		reached += naive_freed(r) || r->end == BLOCK_IN_USE;
	}
	for (uint32_t i = 0; i < a->n.culled_count; i++) {
		if (a->n.culled_match[i] != CULLED_YES ||
		    !is_of_site(a, a->n.culled[i].stack, site) ||
		    age_class(culled_lifetime_least(a->n.culled[i].lifetime)) < class)
			continue;
		freed += a->n.culled[i].blocks;
		reached += a->n.culled[i].blocks;
	}
	return (double)freed / (double)reached;
}

static void check_survivor(const struct asked *a, const struct survivor *s, uint64_t young_ns)
{
	const char *site = site_name(a, s->node);
	struct usage old = {0}, young = {0};
	double suspect = 0;

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];
		uint64_t age = a->n.rows.end_ns - r->birth;
		struct usage *into = &young;
		double chance;

		if (!a->n.match[i] || r->end != BLOCK_IN_USE || !is_of_site(a, r->stack, site))
			continue;
		chance = chance_of(a, site, age_class(age));
		if (age >= young_ns && chance <= 0.5) {
			into = &old;
			suspect += (double)r->size * (1 - chance);
		}
		into->blocks++;
		into->bytes += r->size;
	}
	asked_equal(a, "old blocks of a call site", &s->old, &old);
	asked_equal(a, "young blocks of a call site", &s->young, &young);
	assert_in_range(s->suspect_bytes + 1, (uint64_t)(suspect + 0.5),
			(uint64_t)(suspect + 0.5) + 2);
}

static void check_survivors(struct asked *a, const struct filter *f)
{
	uint64_t young_ns =
		test_random(&a->random) % 3 ? test_random(&a->random) % a->end : NO_TIME;
	struct usage leaked = naive_sum(&a->n, VALUE_LEAKED, 0, NAIVE_ALL);
	struct survivors s;

	assert_int_equal(query_survivors(a->t.view, f, young_ns, &s, NULL), 0);
	asked_equal(a, "what survives", &s.in_use, &leaked);
	for (size_t i = 0; i < s.count; i++)
		check_survivor(a, &s.list[i],
			       young_ns == NO_TIME ? a->n.rows.end_ns / 100 : young_ns);
	survivors_done(&s);
}

/* ---- groups, and two moments ---- */

static void check_side(const struct asked *a, const struct group_side *side, uint32_t stack,
		       bool matched)
{
	struct usage all = {0};
	uint64_t least = UINT64_MAX, most = 0, first = UINT64_MAX, last = 0, leaked = 0;

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		if (r->stack != stack || (matched && !a->n.match[i]))
			continue;
		all.blocks++;
		all.bytes += r->size;
		leaked += r->end == BLOCK_IN_USE;
		least = r->size < least ? r->size : least;
		most = r->size > most ? r->size : most;
		first = r->birth < first ? r->birth : first;
		last = r->birth > last ? r->birth : last;
	}
	for (uint32_t i = 0; i < a->n.culled_count; i++) {
		const struct culled_row *c = &a->n.culled[i];

		if (c->stack != stack || (matched && a->n.culled_match[i] != CULLED_YES))
			continue;
		all.blocks += c->blocks;
		all.bytes += c->bytes;
		least = c->size_least < least ? c->size_least : least;
		most = c->size_most > most ? c->size_most : most;
		first = c->first_ns < first ? c->first_ns : first;
		last = c->last_ns > last ? c->last_ns : last;
	}
	asked_equal(a, matched ? "matched of a group" : "all of a group", &side->allocated, &all);
	assert_int_equal(side->leaked_blocks, leaked);
	assert_int_equal(side->min_size, least);
	assert_int_equal(side->max_size, most);
	assert_int_equal(side->first_ns, first);
	assert_int_equal(side->last_ns, last);
}

static void check_allocation_groups(struct asked *a, const struct filter *f)
{
	struct allocation_groups groups;
	size_t wanted = 0;

	assert_int_equal(query_allocation_groups(a->t.view, f, &groups, NULL), 0);
	for (size_t i = 0; i < groups.count; i++) {
		const struct allocation_group *g = &groups.list[i];

		check_side(a, &g->all, g->node, false);
		check_side(a, &g->matched, g->node, true);
		assert_int_equal(g->peak_ns, a->n.stack[g->node].peak_ns);
	}
	for (uint32_t s = 0; s <= TEST_NODES; s++)
		wanted += naive_sum(&a->n, VALUE_ALLOCATED, 0, s).blocks > 0;
	assert_int_equal(groups.count, wanted);
	allocation_groups_done(&groups);
}

/* Names from the innermost frame on: backtraces with the same are the same. */
static void name_of(const struct asked *a, uint32_t node, enum grouping grouping, char *out,
		    size_t size)
{
	int used = snprintf(out, size, "%s", site_name(a, node));
	uint32_t parent = node ? naive_node(&a->n, node)->parent : 0;

	if (parent && grouping == GROUP_BY_BACKTRACE) {
		out[used] = ';';
		name_of(a, parent, grouping, out + used + 1, size - (size_t)used - 1);
	}
}

static struct usage sum_of_name(const struct asked *a, enum grouping grouping, const char *name,
				enum value value, uint64_t at)
{
	struct usage sum = {0};
	char other[4096];

	for (uint32_t s = 0; s <= TEST_NODES; s++) {
		struct usage one = naive_sum(&a->n, value, at, s);

		name_of(a, s, grouping, other, sizeof(other));
		if (strcmp(other, name) != 0)
			continue;
		sum.blocks += one.blocks;
		sum.bytes += one.bytes;
	}
	return sum;
}

/* How many names differ between the two moments; those that have the same are `ret_same`. */
static size_t count_differences(const struct asked *a, enum grouping grouping,
				const struct diff_side *base, const struct diff_side *now,
				size_t *ret_same)
{
	char name[4096], other[4096];
	size_t count = 0;

	*ret_same = 0;
	for (uint32_t s = 0; s <= TEST_NODES; s++) {
		struct usage x, y;
		bool seen = false;

		name_of(a, s, grouping, name, sizeof(name));
		for (uint32_t before = 0; before < s && !seen; before++) {
			name_of(a, before, grouping, other, sizeof(other));
			seen = !strcmp(name, other);
		}
		if (seen)
			continue;
		x = sum_of_name(a, grouping, name, base->value, base->at_ns);
		y = sum_of_name(a, grouping, name, now->value, now->at_ns);
		if (!x.blocks && !y.blocks)
			continue;
		if (x.blocks == y.blocks && x.bytes == y.bytes)
			++*ret_same;
		else
			count++;
	}
	return count;
}

static void check_diff(struct asked *a, const struct filter *f)
{
	enum grouping grouping = test_random(&a->random) % 2 ? GROUP_BY_SITE : GROUP_BY_BACKTRACE;
	struct diff_side base = {a->t.view, f, (enum value)(test_random(&a->random) % VALUE_PEAK),
				 test_random(&a->random) % a->end},
			 now = {a->t.view, f, (enum value)(test_random(&a->random) % VALUE_PEAK),
				test_random(&a->random) % a->end};
	struct diff diff;
	size_t same;

	assert_int_equal(query_diff(&base, &now, grouping, &diff, NULL), 0);
	assert_int_equal(diff.count, count_differences(a, grouping, &base, &now, &same));
	assert_int_equal(diff.same, same);
	for (size_t i = 0; i < diff.count; i++) {
		const struct diff_entry *e = &diff.list[i];
		struct usage x, y;
		char name[4096];

		name_of(a, e->new_node != NO_NODE ? e->new_node : e->base_node, grouping, name,
			sizeof(name));
		x = sum_of_name(a, grouping, name, base.value, base.at_ns);
		y = sum_of_name(a, grouping, name, now.value, now.at_ns);
		asked_equal(a, "the base of a difference", &e->base, &x);
		asked_equal(a, "the new side of a difference", &e->now, &y);
		assert_int_equal(e->bytes, (int64_t)(y.bytes - x.bytes));
		assert_int_equal(e->blocks, (int64_t)(y.blocks - x.blocks));
	}
	diff_done(&diff);
}

/* ---- memory ---- */

struct page {
	uint64_t page, bytes;
};

static int by_page(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

/* A piece for each page that a block touches. */
static struct page *list_pages(const struct asked *a, uint64_t at, size_t *ret_count)
{
	struct page *list = calloc(a->n.rows.count * 100 + 1, sizeof(*list));
	size_t count = 0;

	assert_non_null(list);
	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		for (uint64_t from = r->address;
		     a->n.match[i] && naive_alive(r, at) && from < r->address + r->size;) {
			uint64_t page = from / PAGE, end = (page + 1) * PAGE;

			end = end < r->address + r->size ? end : r->address + r->size;
			list[count++] = (struct page){page, end - from};
			from = end;
		}
	}
	qsort(list, count, sizeof(*list), by_page);
	*ret_count = count;
	return list;
}

static void check_fragmentation(struct asked *a, const struct filter *f)
{
	uint64_t at = test_random(&a->random) % a->end, pages = 0, of[FRAGMENTATION_CLASSES] = {0};
	struct usage wanted = naive_sum(&a->n, VALUE_IN_USE, at, NAIVE_ALL), got;
	struct fragmentation found;
	size_t count;
	struct page *list = list_pages(a, at, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t class;

		if (i + 1 < count && list[i + 1].page == list[i].page) {
			list[i + 1].bytes += list[i].bytes;
			continue;
		}
		class = list[i].bytes * FRAGMENTATION_CLASSES / PAGE;
		pages++;
		of[class < FRAGMENTATION_CLASSES ? class : FRAGMENTATION_CLASSES - 1]++;
	}
	free(list);
	assert_int_equal(query_fragmentation(a->t.view, f, at, &found, NULL), 0);
	got = (struct usage){.blocks = found.blocks, .bytes = found.bytes};
	asked_equal(a, "what lies on pages", &got, &wanted);
	assert_int_equal(found.pages, pages);
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++)
		assert_int_equal(found.by_fill[i].pages, of[i]);
	fragmentation_done(&found);
}

static void check_mappings(const struct asked *a)
{
	struct mappings mappings;

	assert_int_equal(query_mappings(a->t.view, false, NULL, &mappings, NULL), 0);
	assert_int_equal(mappings.count, a->program->mapping_count);
	for (size_t i = 0; i < mappings.count; i++) {
		const struct program_mapping *wanted = &a->program->mappings[i];

		assert_int_equal(mappings.list[i].address, wanted->address);
		assert_int_equal(mappings.list[i].size, wanted->size);
		assert_int_equal(mappings.list[i].mapped_ns, wanted->mapped_ns);
		assert_int_equal(mappings.list[i].unmapped_ns, wanted->unmapped_ns);
	}
	mappings_done(&mappings);
}

/* Each time that a backtrace has the place. */
static void check_places(const struct asked *a)
{
	for (uint32_t node = 1; node <= TEST_NODES; node++) {
		const struct stack_node *place = naive_node(&a->n, node);
		uint64_t got, wanted = 0;

		for (uint32_t s = 1; s <= TEST_NODES; s++)
			for (uint32_t at = s; at; at = naive_node(&a->n, at)->parent)
				if (naive_node(&a->n, at)->module == place->module &&
				    naive_node(&a->n, at)->offset == place->offset)
					wanted += a->n.stack[s].blocks;
		assert_int_equal(view_place_allocations(a->t.view, node, &got, NULL), 0);
		assert_int_equal(got, wanted);
	}
}

/* ---- */

static void ask(struct asked *a)
{
	struct filter f;

	naive_random_filter(&f, &a->n, &a->random, false);
	naive_ask(&a->n, &f);
	check_timeline(a, &f);
	check_moments(a, &f);
	check_events(a, &f);
	check_histogram(a, &f);
	check_survivors(a, &f);
	check_allocation_groups(a, &f);
	check_diff(a, &f);
	check_fragmentation(a, &f);
	filter_done(&f);
}

static void test_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= asked_rounds(ROUNDS, ROUNDS_FULL); seed++) {
		struct asked a;

		asked_open(&a, seed);
		check_mappings(&a);
		check_places(&a);
		for (unsigned i = 0; i < QUESTIONS; i++)
			ask(&a);
		asked_close(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
