/*
 * The map from a counter to time, when the machine sleeps: the counter and the clocks are this
 * test's. In use a sleep can't be had in a test; that the two are read as here is all that is
 * assumed.
 */
#include "agent/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)

static uint64_t counter, monotonic, boottime;

uint64_t clock_counter(void)
{
	counter += 10; /* a reading takes its time */
	return counter;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns = id == CLOCK_BOOTTIME ? boottime : monotonic;

	monotonic += 5;
	boottime += 5;
	*t = (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
	return 0;
}

/* Two ticks a nanosecond. */
static void pass(uint64_t ns)
{
	counter += 2 * ns;
	monotonic += ns;
	boottime += ns;
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)rest;
	pass((uint64_t)t->tv_nsec);
	return 0;
}

static struct clock begin(void)
{
	struct clock c;

	counter = 77 * SECOND;
	monotonic = boottime = 1000 * SECOND;
	clock_init(&c, RING_CLOCK_TSC);
	for (int i = 0; i < 20; i++) {
		pass(SECOND);
		clock_update(&c);
	}
	return c;
}

static void assert_maps(const struct clock *c, uint64_t stamp, uint64_t ns)
{
	uint64_t mapped = clock_ns(c, stamp);

	assert_in_range(mapped, ns - 20000, ns + 20000);
}

static void test_goes_on(void **state)
{
	struct clock c = begin();

	(void)state;
	pass(SECOND / 2);
	assert_false(clock_strayed(&c, counter));
	assert_maps(&c, counter, monotonic);
}

/* The counter goes on through a sleep of an hour. */
static void test_sleep(void **state)
{
	struct clock c = begin();
	uint64_t before[2], before_ns[2], after[2], after_ns[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		pass(SECOND / 10);
		before[i] = counter;
		before_ns[i] = monotonic;
	}
	counter += 2 * HOUR;
	boottime += HOUR;
	for (int i = 0; i < 2; i++) {
		pass(SECOND / 10);
		after[i] = counter;
		after_ns[i] = monotonic;
	}
	assert_true(clock_strayed(&c, counter));
	clock_update(&c);
	assert_false(clock_strayed(&c, counter));
	for (int round = 0; round < 2; round++) { /* also after the next update */
		for (int i = 0; i < 2; i++) {
			assert_maps(&c, before[i], before_ns[i]);
			assert_maps(&c, after[i], after_ns[i]);
		}
		pass(SECOND);
		assert_maps(&c, counter, monotonic);
		clock_update(&c);
	}
	assert_in_range(clock_slept_ns(), HOUR - 1000, HOUR + 1000);
}

/* A sleep of more than half of the time between two looks breaks the line in the sleep. */
static void test_break(void **state)
{
	struct clock c = begin();
	uint64_t before, before_ns;

	(void)state;
	pass(7 * SECOND / 10);
	before = counter;
	before_ns = monotonic;
	counter += 2 * 11 * SECOND / 10;
	pass(SECOND / 5);
	clock_update(&c);
	assert_maps(&c, before, before_ns);
	assert_maps(&c, counter, monotonic);
}

/* One of less bends it: it never steps back, goes on slowly, and a second later it is right if the
 * sleep was that short. */
static void test_bend(void **state)
{
	static const uint64_t tenths[] = {5, 8, 15};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t ahead = tenths[i] * SECOND / 10, last;
		struct clock c = begin();

		pass(2 * SECOND);
		counter += 2 * ahead;
		last = clock_ns(&c, counter);
		clock_update(&c);
		assert_maps(&c, counter, last);
		pass(SECOND);
		assert_maps(&c, counter, i < 2 ? monotonic : last + SECOND / 10);
	}
}

/* The counter begins anew, at little. */
static void test_reset(void **state)
{
	struct clock c = begin();

	(void)state;
	counter = 1000;
	assert_true(clock_strayed(&c, counter));
	clock_update(&c);
	assert_false(clock_strayed(&c, counter));
	pass(SECOND);
	assert_maps(&c, counter, monotonic);
}

/* A leap too short to be told from an error: no step back, and right again in a second. */
static void test_small_error(void **state)
{
	struct clock c = begin();
	uint64_t last;

	(void)state;
	counter += 2 * 20000000; /* 20 ms */
	last = clock_ns(&c, counter);
	clock_update(&c);
	for (int i = 0; i < 20; i++) {
		uint64_t ns;

		pass(SECOND / 10);
		ns = clock_ns(&c, counter);
		assert_true(ns >= last);
		last = ns;
		if (i % 10 == 9)
			clock_update(&c);
	}
	assert_in_range(clock_ns(&c, counter), monotonic - 2000000, monotonic + 2000000);
}

/* The counter stands still while time goes on: the line leaps forward. */
static void test_behind(void **state)
{
	struct clock c = begin();
	uint64_t last = clock_ns(&c, counter);

	(void)state;
	monotonic += SECOND;
	clock_update(&c);
	assert_true(clock_ns(&c, counter) >= last);
	assert_maps(&c, counter, monotonic);
	pass(SECOND);
	assert_maps(&c, counter, monotonic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on), cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_reset),	cmocka_unit_test(test_small_error),
		cmocka_unit_test(test_behind),	cmocka_unit_test(test_break),
		cmocka_unit_test(test_bend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
