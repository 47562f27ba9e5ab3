/* Levels at full hours: against sums that are added up one by one, however minutes are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/minutes.h"
#include "collector/share/levels.h"

#define STACKS 5
#define BEGIN  100
#define END    400

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t count)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % count;
}

/* Some backtraces are never in use at an hour: what they change is taken back before it. */
static void make(struct minutes *all)
{
	for (uint32_t minute = BEGIN; minute < END; minute++)
		for (uint64_t stack = 1; stack <= STACKS; stack++) {
			int64_t n = (int64_t)random_below(9) - 4;

			if (stack == STACKS)
				n = minute % 60 == 7 ? 1 : minute % 60 == 8 ? -1 : 0;
			if (n)
				assert_int_equal(
					minutes_add(all, &(struct minute_sum){.minute = minute,
									      .stack = stack,
									      .allocated_units = 7,
									      .allocated = 8,
									      .units = n,
									      .bytes = 10 * n,
									      .variance = 3 * n}),
					0);
		}
}

static void model(const struct minutes *all, uint32_t least, struct minutes *ret)
{
	for (uint32_t hour = 60; hour <= END; hour += 60) {
		int64_t use[STACKS + 1] = {0};

		if (hour <= BEGIN || hour < least)
			continue;
		for (uint32_t i = 0; i < all->count; i++)
			if (all->list[i].minute < hour)
				use[all->list[i].stack] += all->list[i].units;
		for (uint64_t stack = 1; stack <= STACKS; stack++)
			minutes_add(ret, &(struct minute_sum){.minute = hour,
							      .stack = stack,
							      .units = use[stack],
							      .bytes = 10 * use[stack],
							      .variance = 3 * use[stack]});
		minutes_add(ret, &(struct minute_sum){.minute = hour,
						      .stack = LEVEL_WHOLE,
						      .allocated_units = 1});
	}
	minutes_sort(ret);
}

/* Adds the minutes in pieces. */
static void levels_of(const struct minutes *all, uint32_t piece, uint32_t least,
		      struct minutes *ret)
{
	struct levels levels = {0};
	uint32_t at = 0;

	for (uint32_t from = BEGIN; from < END;) {
		uint32_t end = from + piece < END ? from + piece : END;
		struct minutes some = {.list = all->list + at};

		while (at + some.count < all->count && all->list[at + some.count].minute < end)
			some.count++;
		at += some.count;
		assert_int_equal(levels_add(&levels, &some, from, end, least, ret), 0);
		assert_int_equal(levels.to, end);
		from = end;
	}
	levels_done(&levels);
	minutes_sort(ret);
}

static void must_be_equal(const struct minutes *a, const struct minutes *b)
{
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_int_equal(a->list[i].minute, b->list[i].minute);
		assert_int_equal(a->list[i].stack, b->list[i].stack);
		assert_int_equal(a->list[i].allocated_units, b->list[i].allocated_units);
		assert_int_equal(a->list[i].allocated, 0);
		assert_int_equal(a->list[i].units, b->list[i].units);
		assert_int_equal(a->list[i].bytes, b->list[i].bytes);
		assert_int_equal(a->list[i].variance, b->list[i].variance);
	}
}

static void test_pieces(void **unused)
{
	static const uint32_t pieces[] = {1, 7, 20, 60, 61, 1000}, leasts[] = {0, 181, 240, 361};
	struct minutes all = {0};

	(void)unused;
	make(&all);
	for (size_t k = 0; k < sizeof(leasts) / sizeof(*leasts); k++) {
		struct minutes expected = {0};

		model(&all, leasts[k], &expected);
		for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
			struct minutes got = {0};

			levels_of(&all, pieces[i], leasts[k], &got);
			must_be_equal(&got, &expected);
			minutes_done(&got);
		}
		minutes_done(&expected);
	}
	minutes_done(&all);
}

static void test_between(void **unused)
{
	(void)unused;
	assert_false(levels_between(60, 119));
	assert_true(levels_between(60, 120));
	assert_true(levels_between(59, 60));
	assert_false(levels_between(59, 59));
	assert_true(levels_between(0, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
