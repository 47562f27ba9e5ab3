/*
 * The oracle's other questions (see oracle.c): usage over time, what is in use at many moments,
 * sizes and lifetimes, leaks by survival. Of the same random programs, received by the same store
 * that is killed, with the same random filters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/sweep/events.h"
#include "collector/query/sums/live.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/asked.h"
#include "proto/columns.h"
#include "proto/culled.h"

#define MOMENTS 20

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
	       (value == VALUE_ALLOCATED || value == VALUE_FREED);
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

static bool is_of_site(const struct asked *a, uint32_t stack, const char *site)
{
	return !strcmp(asked_site_name(a, stack), site);
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
	const char *site = asked_site_name(a, s->node);
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

static void check(struct asked *a, const struct filter *f)
{
	check_timeline(a, f);
	check_moments(a, f);
	check_events(a, f);
	check_histogram(a, f);
	check_survivors(a, f);
}

static void test_programs(void **state)
{
	(void)state;
	asked_programs(check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
