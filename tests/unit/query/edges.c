/* Filters, moments and ages at the very edge: what is asked for is what a row has, or a nanosecond
 * or byte beside it. The edges of all rows are those of a block, by which it is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sums/live.h"
#include "collector/query/match/matcher.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/naive.h"

#define EVENTS 250

static struct test_recording t;
static struct naive_rows rows;

static int open_recording(void **state)
{
	(void)state;
	test_random_recording(&t, 5, EVENTS, false);
	naive_rows_init(&rows, t.recording);
	return 0;
}

/* All is freed in the end; one block in the nanosecond in which it was born. */
static int open_freed(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	for (unsigned i = 0; i < 30; i++)
		builder_malloc(&b, 100 + 10 * i, 1, 0x1000 + 64 * i, 8 + i);
	builder_malloc(&b, 500, 1, 0x800, 7);
	builder_free(&b, 500, 1, 0x800);
	for (unsigned i = 0; i < 30; i++)
		builder_free(&b, 1000 + 10 * i, 1, 0x1000 + 64 * i);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	naive_rows_init(&rows, t.recording);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	free(rows.list);
	test_close(&t);
	return 0;
}

/* ---- what matches ---- */

static int mark_row(void *context, const struct row_block *block, uint32_t index)
{
	((bool *)context)[block->first_row + index] = true;
	return 0;
}

/* `ret_passed_over`: of the only block that there is nothing is looked at. */
static void ask(const struct filter *f, bool *ret_matched, bool *ret_passed_over)
{
	struct matcher m;

	memset(ret_matched, 0, rows.count * sizeof(*ret_matched));
	assert_int_equal(query_each(t.view, f, mark_row, ret_matched, NULL), 0);
	assert_int_equal(recording_blocks(t.recording), 1);
	assert_int_equal(matcher_init(&m, t.view, f, NULL), 0);
	*ret_passed_over = matcher_block_rows(&m, recording_zone(t.recording, 0)) == 0;
	matcher_done(&m);
}

/* ---- numbers ---- */

static uint64_t size_of(const struct naive_row *r)
{
	return r->size;
}

static uint64_t address_of(const struct naive_row *r)
{
	return r->address;
}

static uint64_t birth_of(const struct naive_row *r)
{
	return r->birth;
}

static uint64_t lived_of(const struct naive_row *r)
{
	return (r->death == NO_TIME ? rows.end_ns : r->death) - r->birth;
}

static const struct bound {
	const char *name;
	size_t offset; /* in struct filter */
	uint64_t (*value)(const struct naive_row *r);
	bool upper, by_block;
} bounds[] = {
	{"size_min", offsetof(struct filter, size_min), size_of, false, true},
	{"size_max", offsetof(struct filter, size_max), size_of, true, true},
	{"address_min", offsetof(struct filter, address_min), address_of, false, true},
	{"address_max", offsetof(struct filter, address_max), address_of, true, true},
	{"from", offsetof(struct filter, from_ns), birth_of, false, true},
	{"to", offsetof(struct filter, to_ns), birth_of, true, true},
	{"lifetime_min", offsetof(struct filter, lifetime_min_ns), lived_of, false, false},
	{"lifetime_max", offsetof(struct filter, lifetime_max_ns), lived_of, true, false},
};

/* Both bounds are in: a row that has just that is let through. A block is passed over if nothing of
 * it can be. */
static void check_bound(const struct bound *b, uint64_t limit)
{
	bool *matched = calloc(rows.count, sizeof(*matched)), passed_over, any = false;
	struct filter f;

	assert_non_null(matched);
	filter_init(&f);
	memcpy((char *)&f + b->offset, &limit, sizeof(limit));
	ask(&f, matched, &passed_over);
	for (size_t i = 0; i < rows.count; i++) {
		uint64_t value = b->value(&rows.list[i]);
		bool in = b->upper ? value <= limit : value >= limit;

		if (matched[i] != in)
			fail_msg("%s=%llu: a row of %llu is %s", b->name, (unsigned long long)limit,
				 (unsigned long long)value, matched[i] ? "there" : "missing");
		any |= in;
	}
	if (b->by_block && passed_over == any)
		fail_msg("%s=%llu: the block is %s", b->name, (unsigned long long)limit,
			 any ? "passed over" : "looked at");
	free(matched);
}

static void test_bounds(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++)
		for (size_t i = 0; i < rows.count; i++) {
			uint64_t value = bounds[k].value(&rows.list[i]);

			check_bound(&bounds[k], value);
			check_bound(&bounds[k], value + 1);
			if (value)
				check_bound(&bounds[k], value - 1);
		}
}

/* ---- moments ---- */

/* In use: allocated then or before, freed later or never. */
static bool in_use(const struct naive_row *r, uint64_t at)
{
	return r->birth <= at && (r->death == NO_TIME || r->death > at);
}

static void check_moment(uint64_t at)
{
	bool *matched = calloc(rows.count, sizeof(*matched)), passed_over;
	uint64_t first = UINT64_MAX, last = 0;
	struct live_block *live;
	size_t count, wanted = 0;
	struct filter f;

	assert_non_null(matched);
	filter_init(&f);
	assert_int_equal(query_live(t.view, &f, at, &live, &count, NULL), 0);
	free(live);
	f.alive_at_ns = at;
	ask(&f, matched, &passed_over);
	for (size_t i = 0; i < rows.count; i++) {
		const struct naive_row *r = &rows.list[i];

		assert_int_equal(matched[i], in_use(r, at));
		wanted += in_use(r, at);
		first = r->birth < first ? r->birth : first;
		last = r->death > last ? r->death : last;
	}
	assert_int_equal(count, wanted);
	/* Of all that a block knows of its rows: none is born yet, or all are dead. */
	assert_int_equal(passed_over, at < first || at >= last);
	free(matched);
	filter_init(&f);
	f.alive_at_2_ns = at;
	matched = calloc(rows.count, sizeof(*matched));
	assert_non_null(matched);
	ask(&f, matched, &passed_over);
	for (size_t i = 0; i < rows.count; i++)
		assert_int_equal(matched[i], in_use(&rows.list[i], at));
	assert_int_equal(passed_over, at < first || at >= last);
	free(matched);
}

static void test_moments(void **state)
{
	(void)state;
	for (size_t i = 0; i < rows.count; i++) {
		const struct naive_row *r = &rows.list[i];

		check_moment(r->birth - 1);
		check_moment(r->birth);
		if (r->death == NO_TIME)
			continue;
		check_moment(r->death - 1);
		check_moment(r->death);
	}
}

static void check_range(uint64_t from, uint64_t to)
{
	bool *matched = calloc(rows.count, sizeof(*matched)), passed_over;
	struct filter f;

	assert_non_null(matched);
	for (unsigned freed_in_it = 0; freed_in_it < 2; freed_in_it++) {
		filter_init(&f);
		f.lifetime = freed_in_it ? LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE
					 : LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE;
		f.from_ns = from;
		f.to_ns = to;
		ask(&f, matched, &passed_over);
		for (size_t i = 0; i < rows.count; i++) {
			const struct naive_row *r = &rows.list[i];
			bool freed = naive_freed(r) && r->death >= from && r->death <= to;

			assert_int_equal(matched[i], r->birth >= from && r->birth <= to &&
							     freed == freed_in_it);
		}
	}
	free(matched);
}

/* Who is freed at the moment at which a range ends, or begins, is freed in it. */
static void test_freed_in_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < rows.count; i++) {
		const struct naive_row *r = &rows.list[i];

		for (uint64_t beside = 0; beside < 3 && r->death != NO_TIME; beside++) {
			check_range(0, r->death + beside - 1);
			check_range(r->death + beside - 1, UINT64_MAX);
		}
	}
}

/* ---- ages ---- */

/* Young is who is younger than that, not who is just as old. Nothing of the call site was ever
 * freed. */
static void test_young(void **state)
{
	enum { BLOCKS = 20 };
	struct survivors s;
	struct builder b;
	struct filter all;

	(void)state;
	builder_init(&b, 1);
	for (unsigned i = 0; i < BLOCKS; i++)
		builder_malloc(&b, 100 + 300 * i, 1, 0x1000 + 64 * i, 8 + i);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	naive_rows_init(&rows, t.recording);
	filter_init(&all);
	for (size_t i = 0; i < BLOCKS; i++)
		for (uint64_t beside = 0; beside < 3; beside++) {
			uint64_t young_ns = rows.end_ns - rows.list[i].birth + beside - 1,
				 young = 0;

			if (young_ns == UINT64_MAX)
				continue; /* that is to say: a hundredth */
			for (size_t k = 0; k < BLOCKS; k++)
				young += rows.end_ns - rows.list[k].birth < young_ns;
			assert_int_equal(query_survivors(t.view, &all, young_ns, &s, NULL), 0);
			assert_int_equal(s.young_ns, young_ns);
			assert_int_equal(s.young.blocks, young);
			assert_int_equal(s.old.blocks, BLOCKS - young);
			survivors_done(&s);
		}
	assert_int_equal(query_survivors(t.view, &all, NO_TIME, &s, NULL), 0);
	assert_int_equal(s.young_ns, rows.end_ns / 100);
	survivors_done(&s);
	close_recording(NULL);
}

/* Of the call site's blocks that became so old just one half was freed later: that is not most of
 * them. */
static void young_of(unsigned freed, bool is_young)
{
	struct survivors s;
	struct builder b;
	struct filter all;

	builder_init(&b, 1);
	for (unsigned i = 0; i <= freed; i++)
		builder_malloc(&b, 1000, 1, 0x1000 + 64 * i, 8);
	for (unsigned i = 1; i <= freed; i++)
		builder_free(&b, 9000, 1, 0x1000 + 64 * i);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	filter_init(&all);
	assert_int_equal(query_survivors(t.view, &all, 0, &s, NULL), 0);
	assert_int_equal(s.young.blocks, is_young);
	assert_int_equal(s.old.blocks, !is_young);
	survivors_done(&s);
	test_close(&t);
}

static void test_half_were_freed(void **state)
{
	(void)state;
	young_of(0, false);
	young_of(1, false);
	young_of(2, true);
}

/* A range of time: as far as there is anything, a nanosecond at least, in buckets of one width. */
static void test_ranges(void **state)
{
	uint64_t last = recording_end_ns(t.recording), end;
	struct filter f;

	(void)state;
	for (size_t i = 0; i < rows.count; i++)
		last = rows.list[i].birth > last ? rows.list[i].birth : last;
	end = last + 1;
	const struct {
		uint64_t from, to, start, stop;
	} ranges[] = {{0, end - 2, 0, end - 1},
		      {0, end - 1, 0, end},
		      {0, end, 0, end},
		      {0, NO_TIME, 0, end},
		      {7, 7, 7, 8},
		      {7, 6, 6, 7},
		      {end - 1, end - 1, last, end},
		      {end, NO_TIME, last, end},
		      {NO_TIME, NO_TIME, last, end}};

	filter_init(&f);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		for (uint32_t buckets = 0; buckets < 4; buckets++) {
			struct timeline_question q = {.from_ns = ranges[i].from,
						      .to_ns = ranges[i].to,
						      .buckets = buckets};
			uint64_t span = ranges[i].stop - ranges[i].start,
				 width = (span + buckets - (buckets > 0)) / (buckets + !buckets);
			struct timeline timeline;

			assert_int_equal(query_timeline(t.view, &f, &q, &timeline, NULL), 0);
			assert_int_equal(timeline.from_ns, ranges[i].start);
			assert_int_equal(timeline.to_ns, ranges[i].stop);
			assert_int_equal(timeline.width_ns, width);
			assert_int_equal(timeline.count, (span + width - 1) / width);
			for (uint32_t b = 0; b < timeline.count; b++)
				assert_int_equal(timeline.list[b].start_ns,
						 ranges[i].start + b * width);
			timeline_done(&timeline);
		}
	filter_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bounds, open_recording, close_recording),
		cmocka_unit_test_setup_teardown(test_moments, open_recording, close_recording),
		cmocka_unit_test_setup_teardown(test_moments, open_freed, close_recording),
		cmocka_unit_test_setup_teardown(test_freed_in_range, open_recording,
						close_recording),
		cmocka_unit_test_setup_teardown(test_freed_in_range, open_freed, close_recording),
		cmocka_unit_test_setup_teardown(test_ranges, open_recording, close_recording),
		cmocka_unit_test_setup_teardown(test_ranges, open_freed, close_recording),
		cmocka_unit_test(test_young),
		cmocka_unit_test(test_half_were_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
