/* Sums by minute and backtrace against the slow way, for random recordings whose minutes begin
 * anywhere within them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/minutes.h"
#include "tests/unit/query/naive.h"

#define ROUNDS 20
#define EVENTS 600
#define FIRST  1000u /* the minute in which recordings begin */

static uint64_t start_of(uint64_t offset_ns)
{
	return minute_start_ns(FIRST + 1) - offset_ns;
}

/* What the minutes from `first` to before `end` say of a backtrace. */
static struct minute_sum naive_sum(const struct naive_rows *n, uint64_t start, uint32_t minute,
				   uint32_t node)
{
	struct minute_sum sum = {.minute = minute, .stack = node};

	for (size_t i = 0; i < n->count; i++) {
		const struct naive_row *r = &n->list[i];
		uint64_t death = r->death > r->birth ? r->death : r->birth;

		if (r->stack != node)
			continue;
		if (minute_of(start + r->birth) == minute) {
			sum.allocated_units += MINUTE_UNIT;
			sum.allocated += (int64_t)r->size;
			sum.units += MINUTE_UNIT;
			sum.bytes += (int64_t)r->size;
		}
		if (r->death != NO_TIME && minute_of(start + death) == minute) {
			sum.units -= MINUTE_UNIT;
			sum.bytes -= (int64_t)r->size;
		}
	}
	return sum;
}

/* Each sum is right, and each that is not zero is there, once and in order. */
static void check_minutes(const struct naive_rows *n, uint64_t start, const struct minutes *m,
			  uint32_t first, uint32_t end)
{
	uint32_t at = 0;

	for (uint32_t minute = first; minute < end; minute++)
		for (uint32_t node = 0; node <= TEST_NODES; node++) {
			struct minute_sum wanted = naive_sum(n, start, minute, node);

			if (!wanted.allocated_units && !wanted.units && !wanted.bytes)
				continue;
			assert_in_range(at, 0, m->count - 1);
			assert_memory_equal(&m->list[at++], &wanted, sizeof(wanted));
		}
	assert_int_equal(at, m->count);
}

static void check_moment(struct test_recording *t, const struct naive_rows *n, uint64_t offset_ns)
{
	static const struct {
		uint32_t first, end;
	} spans[] = {{FIRST, FIRST + 2}, {FIRST, FIRST + 1}, {FIRST + 1, FIRST + 2},
		     {0, FIRST},	 {0, UINT32_MAX},    {FIRST + 1, FIRST + 1}};
	uint64_t start = start_of(offset_ns);
	struct filter all;

	filter_init(&all);
	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		struct minutes m = {0};
		uint32_t first = spans[i].first > FIRST ? spans[i].first : FIRST,
			 end = spans[i].end < FIRST + 2 ? spans[i].end : FIRST + 2;

		assert_int_equal(
			query_minutes(t->view, &all, start, spans[i].first, spans[i].end, &m, NULL),
			0);
		check_minutes(n, start, &m, first, end);
		minutes_done(&m);
	}
}

static void test_random_minutes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct test_recording t;
		struct naive_rows n;
		uint64_t random = seed;

		test_random_recording(&t, seed, EVENTS, false);
		naive_rows_init(&n, t.recording);
		assert_true(n.count > 1);
		/* At an event, and beside it. */
		for (int i = 0; i < 4; i++) {
			uint64_t birth = n.list[test_random(&random) % n.count].birth;

			check_moment(&t, &n, birth);
			check_moment(&t, &n, birth + 1);
			check_moment(&t, &n, birth ? birth - 1 : 0);
		}
		free(n.list);
		test_close(&t);
	}
}

/* All minutes together: nothing is lost between them, also of samples. */
static void test_minutes_add_up(void **state)
{
	struct test_recording t;
	struct filter all;
	struct naive_rows n;

	(void)state;
	filter_init(&all);
	test_random_recording(&t, 5, EVENTS, true);
	naive_rows_init(&n, t.recording);
	for (size_t i = 0; i < n.count; i++) {
		uint64_t start = start_of(n.list[i].birth);
		struct minutes whole = {0}, parts = {0}, part = {0};

		assert_int_equal(query_minutes(t.view, &all, start, FIRST, FIRST + 2, &whole, NULL),
				 0);
		for (uint32_t minute = FIRST; minute < FIRST + 2; minute++) {
			assert_int_equal(
				query_minutes(t.view, &all, start, minute, minute + 1, &part, NULL),
				0);
			for (uint32_t k = 0; k < part.count; k++)
				assert_int_equal(minutes_add(&parts, &part.list[k]), 0);
			minutes_done(&part);
		}
		minutes_sort(&parts);
		assert_int_equal(parts.count, whole.count);
		assert_memory_equal(parts.list, whole.list, whole.count * sizeof(*whole.list));
		minutes_done(&parts);
		minutes_done(&whole);
	}
	free(n.list);
	test_close(&t);
}

/* Equal ones become one, and those that cancel out go. */
static void test_minutes_sort(void **state)
{
	static const struct minute_sum sums[] = {
		{.minute = 2, .stack = 1, .units = 5, .bytes = 7, .variance = 3},
		{.minute = 1, .stack = 3, .units = 1, .bytes = 1},
		{.minute = 2, .stack = 1, .units = -5, .bytes = -7, .variance = -3},
		{.minute = 1, .stack = 2, .allocated = 4},
		{.minute = 1, .stack = 3, .units = 2, .bytes = 9, .variance = 4},
	};
	struct minutes m = {0}, less;

	(void)state;
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		assert_int_equal(minutes_add(&m, &sums[i]), 0);
	minutes_sort(&m);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.list[0].stack, 2);
	assert_int_equal(m.list[0].allocated, 4);
	assert_int_equal(m.list[1].stack, 3);
	assert_int_equal(m.list[1].units, 3);
	assert_int_equal(m.list[1].bytes, 10);
	assert_int_equal(m.list[1].variance, 4);
	less = m;
	m = (struct minutes){0};
	assert_int_equal(minutes_subtract(&m, &less), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.list[0].allocated, -4);
	for (uint32_t i = 0; i < less.count; i++)
		assert_int_equal(minutes_add(&m, &less.list[i]), 0);
	minutes_sort(&m);
	assert_int_equal(m.count, 0);
	minutes_done(&less);
	minutes_done(&m);
}

static void test_minute_bounds(void **state)
{
	(void)state;
	assert_int_equal(minute_of(0), 0);
	assert_int_equal(minute_of(MINUTE_NS), 0);
	assert_int_equal(minute_of(MINUTE_NS + 1ull), 1);
	assert_int_equal(minute_start_ns(minute_of(UINT64_MAX)) / MINUTE_NS,
			 UINT64_MAX / MINUTE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_minutes),
		cmocka_unit_test(test_minutes_add_up),
		cmocka_unit_test(test_minutes_sort),
		cmocka_unit_test(test_minute_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
