/* The table of threads: whose entry a new thread takes, what is counted of those that are gone, and
 * who has news. */
#include "agent/core/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CAPACITY 3

static struct arena arena;
static struct threads t;

static int open_table(void **state)
{
	(void)state;
	assert_int_equal(arena_open(&arena, 1 << 14), 0);
	assert_int_equal(threads_init(&t, &arena, CAPACITY), 0);
	threads_clear(&t);
	return 0;
}

static int close_table(void **state)
{
	(void)state;
	arena_close(&arena);
	return 0;
}

static void sent(void)
{
	for (struct thread *x = t.entry; x < t.entry + CAPACITY; x++)
		x->news = false;
	t.news = 0;
}

static struct thread *ended(uint32_t tid, uint64_t time_ns)
{
	struct thread *x = threads_add(&t, tid, 1);

	assert_non_null(x);
	threads_end(&t, x, time_ns);
	return x;
}

static void test_numbers(void **state)
{
	struct thread *x;

	(void)state;
	for (uint32_t n = 1; n <= CAPACITY; n++) {
		x = threads_add(&t, 100 + n, 1000 + n);
		assert_ptr_equal(x, &t.entry[n - 1]);
		assert_int_equal(x->number, n);
		assert_int_equal(x->tid, 100 + n);
		assert_int_equal(x->started_ns, 1000 + n);
		assert_true(x->alive && x->news);
		assert_int_equal(t.news, n);
	}
	assert_null(threads_add(&t, 200, 1));
	assert_int_equal(t.last_number, CAPACITY);
	assert_ptr_equal(threads_find(&t, 101), &t.entry[0]);
	assert_ptr_equal(threads_find(&t, 103), &t.entry[2]);
	assert_null(threads_find(&t, 104));
	threads_end(&t, &t.entry[0], 5);
	assert_null(threads_find(&t, 101));
	threads_clear(&t);
	assert_int_equal(t.news, 0);
	assert_null(threads_find(&t, 103));
	assert_int_equal(threads_add(&t, 1, 1)->number, 1);
}

/* Of those that are free to go, the one that ended first. */
static void test_who_goes(void **state)
{
	struct thread *first;

	(void)state;
	ended(101, 30);
	first = ended(102, 10);
	ended(103, 20);
	assert_null(threads_add(&t, 200, 1)); /* their ends were not told yet */
	sent();
	assert_ptr_equal(threads_add(&t, 200, 1), first);
	assert_int_equal(first->number, CAPACITY + 1);
	assert_int_equal(first->ended_ns, 0);
	assert_ptr_equal(threads_add(&t, 201, 1), &t.entry[2]);
	assert_ptr_equal(threads_add(&t, 202, 1), &t.entry[0]);
	assert_null(threads_add(&t, 203, 1));
}

/* A lane, held events, news and counts that were not told: each keeps an entry. */
static void test_who_stays(void **state)
{
	struct thread *x;

	(void)state;
	threads_add(&t, 101, 1);
	threads_add(&t, 102, 1);
	x = ended(103, 10);
	sent();
	x->lanes = 1;
	assert_null(threads_add(&t, 200, 1));
	x->lanes = 0;
	x->held = 1;
	assert_null(threads_add(&t, 200, 1));
	x->held = 0;
	x->counts_news = true;
	assert_null(threads_add(&t, 200, 1));
	x->counts_news = false;
	x->news = true;
	assert_null(threads_add(&t, 200, 1));
	x->news = false;
	x->alive = true;
	assert_null(threads_add(&t, 200, 1));
	x->alive = false;
	assert_ptr_equal(threads_add(&t, 200, 1), x);
}

static void assert_total(uint64_t produced, uint64_t not_sampled, uint64_t delivered,
			 uint64_t culled, uint64_t lost)
{
	struct thread_counts sum = threads_total(&t);

	assert_int_equal(sum.produced, produced);
	assert_int_equal(sum.not_sampled, not_sampled);
	assert_int_equal(sum.delivered, delivered);
	assert_int_equal(sum.culled, culled);
	assert_int_equal(sum.lost, lost);
}

/* What the entries count and counted, whoever has them. */
static void test_counts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CAPACITY; i++) {
		ended(101 + i, 10 + i)->counts = (struct thread_counts){1, 2, 3, 4, 5};
		assert_total(i + 1, 2 * (i + 1), 3 * (i + 1), 4 * (i + 1), 5 * (i + 1));
	}
	sent();
	threads_add(&t, 200, 1)->counts.produced = 100;
	assert_total(103, 6, 9, 12, 15);
	t.entry[1].held = 7;
	assert_int_equal(thread_taken(&t.entry[1]), 3 + 4 + 7 + 5);
	threads_clear(&t);
	assert_total(0, 0, 0, 0, 0);
}

static void test_end(void **state)
{
	struct thread *x = threads_add(&t, 101, 1);

	(void)state;
	sent();
	threads_end(&t, x, 0);
	assert_int_equal(x->ended_ns, 1); /* 0 would be alive */
	assert_true(x->news);
	assert_int_equal(t.news, 1);
	sent();
	threads_end(&t, x, 50);
	assert_int_equal(x->ended_ns, 1);
	assert_false(x->news);
	assert_int_equal(t.news, 0);
}

/* Those that have news already, and others until `most` have. */
static void test_end_left(void **state)
{
	(void)state;
	for (uint32_t tid = 1; tid <= CAPACITY; tid++)
		threads_add(&t, tid, 1);
	sent();
	t.entry[2].news = true;
	t.news = 1;
	threads_end_left(&t, 1, 9);
	assert_true(t.entry[0].alive && t.entry[1].alive);
	assert_false(t.entry[2].alive);
	t.entry[0].lanes = 1;
	threads_end_left(&t, 2, 9);
	assert_true(t.entry[0].alive);
	assert_false(t.entry[1].alive);
	assert_int_equal(t.entry[1].ended_ns, 9);
	assert_int_equal(t.news, 2);
}

/* The 15 bytes that a name has decide. */
static void test_name(void **state)
{
	struct thread *x = threads_add(&t, 101, 1);

	(void)state;
	sent();
	assert_true(threads_name(&t, x, "worker"));
	assert_true(x->news);
	assert_int_equal(t.news, 1);
	sent();
	assert_false(threads_name(&t, x, "worker"));
	assert_false(x->news);
	assert_true(threads_name(&t, x, "123456789abcdeF and more"));
	assert_string_equal(x->name, "123456789abcdeF");
	assert_false(threads_name(&t, x, "123456789abcdeF"));
	assert_true(threads_name(&t, x, "123456789abcdeG"));
	assert_int_equal(t.news, 1);
}

/* A number that another agent gave: kept if it is one of those given out, and free. */
static void test_resume(void **state)
{
	(void)state;
	t.last_number = 10;
	assert_int_equal(threads_resume(&t, 101, 10)->number, 10);
	assert_int_equal(t.last_number, 10);
	assert_int_equal(threads_resume(&t, 102, 10)->number, 11); /* in use */
	assert_int_equal(t.last_number, 11);
	assert_int_equal(threads_resume(&t, 103, 12)->number, 12); /* was not given out */
	assert_int_equal(t.last_number, 12);
	assert_null(threads_resume(&t, 104, 3));
	assert_int_equal(t.last_number, 12);
	threads_clear(&t);
	t.last_number = 5;
	assert_int_equal(threads_resume(&t, 101, 0)->number, 6);
	assert_int_equal(threads_resume(&t, 102, 1)->number, 1);
	assert_int_equal(threads_add(&t, 103, 1)->number, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_who_goes, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_who_stays, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_counts, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_end, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_end_left, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_name, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_resume, open_table, close_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
