/* Steps of one batch after the other are taken in the order of their times, and of their coming
 * where these are equal; held against a list that is searched each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/derive/steps.h"

#define ROUNDS	 300
#define WAIT_MAX 4096

struct model {
	uint64_t time_ns[WAIT_MAX];
	uint32_t number[WAIT_MAX]; /* in the order of coming */
	size_t count;
};

static void put(struct steps *s, struct model *m, uint64_t time_ns)
{
	static uint32_t number;

	assert_int_equal(steps_reserve(s, 1), 0);
	s->list[s->count] = (struct step){
		.time_ns = time_ns, .stack = number, .order = (uint32_t)(s->count - s->sorted)};
	s->count++;
	m->time_ns[m->count] = time_ns;
	m->number[m->count++] = number++;
}

static uint32_t model_take(struct model *m, uint64_t *ret_time_ns)
{
	size_t first = 0;
	uint32_t number;

	for (size_t i = 1; i < m->count; i++)
		if (m->time_ns[i] < m->time_ns[first])
			first = i;
	*ret_time_ns = m->time_ns[first];
	number = m->number[first];
	m->count--;
	for (size_t i = first; i < m->count; i++) {
		m->time_ns[i] = m->time_ns[i + 1];
		m->number[i] = m->number[i + 1];
	}
	return number;
}

/* `spread`: how far a time may lie before the latest, 1 for none. */
static void run(unsigned seed, uint64_t spread)
{
	static struct model m;
	struct steps s = {0}, spare = {0};
	uint64_t now = 1000, time_ns;

	m.count = 0;
	srandom(seed);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t more = (size_t)random() % 40, taken;

		for (size_t i = 0; i < more; i++) {
			now += (uint64_t)random() % 3;
			put(&s, &m, now - (uint64_t)random() % spread % now);
		}
		assert_int_equal(steps_sort(&s, &spare), 0);
		assert_int_equal(s.count, m.count);
		taken = round + 1 < ROUNDS ? (size_t)random() % (s.count + 1) : s.count;
		for (size_t i = 0; i < taken; i++) {
			assert_int_equal(s.list[i].stack, model_take(&m, &time_ns));
			assert_int_equal(s.list[i].time_ns, time_ns);
		}
		steps_consume(&s, taken);
	}
	assert_int_equal(m.count, 0);
	steps_done(&s);
	steps_done(&spare);
}

static void test_in_order(void **state)
{
	(void)state;
	run(1, 1);
}

static void test_late(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 20; seed++)
		run(seed, seed * 3);
}

/* So much that the run is sorted in general. */
static void test_any_order(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 5; seed++)
		run(seed, 100000);
}

/* Of times so few that many are equal, in runs so disordered that they are sorted in general: each
 * keeps its place among its equals, whatever the runs' lengths. */
static void test_equal_times(void **state)
{
	static const size_t runs[] = {1, 2, 33, 1000, 1024, 3000, 5};
	struct steps s = {0}, spare = {0};
	uint32_t number = 0;

	(void)state;
	srandom(3);
	for (size_t k = 0; k < sizeof(runs) / sizeof(runs[0]); k++) {
		assert_int_equal(steps_reserve(&s, runs[k]), 0);
		assert_true(s.capacity >= s.count + runs[k]);
		for (size_t i = 0; i < runs[k]; i++, s.count++)
			s.list[s.count] = (struct step){.time_ns = (uint64_t)random() % 50,
							.stack = number++,
							.order = (uint32_t)(s.count - s.sorted)};
		assert_int_equal(steps_sort(&s, &spare), 0);
		assert_int_equal(s.sorted, s.count);
		assert_int_equal(steps_sort(&s, &spare), 0); /* there is nothing to do */
		for (size_t i = 1; i < s.count; i++)
			assert_true(s.list[i - 1].time_ns < s.list[i].time_ns ||
				    (s.list[i - 1].time_ns == s.list[i].time_ns &&
				     s.list[i - 1].stack < s.list[i].stack));
	}
	assert_int_equal(s.count, number);
	steps_consume(&s, 0);
	assert_int_equal(s.count, number);
	number = s.list[10].stack;
	steps_consume(&s, 10);
	assert_int_equal(s.list[0].stack, number);
	assert_int_equal(s.sorted, s.count);
	steps_done(&s);
	assert_null(s.list);
	assert_int_equal(s.count + s.capacity + s.sorted, 0);
	steps_done(&s);
	steps_done(&spare);
}

/* A run behind what waits needs no room beside it, nor does room that is there. */
static void test_room(void **state)
{
	struct steps s = {0}, spare = {0};
	const struct step *list;

	(void)state;
	assert_int_equal(steps_reserve(&s, 1), 0);
	list = s.list;
	assert_int_equal(steps_reserve(&s, s.capacity), 0);
	assert_ptr_equal(s.list, list);
	s.list[0] = (struct step){.time_ns = 5};
	s.count = s.sorted = 1;
	s.list[1] = (struct step){.time_ns = 5};
	s.count = 2;
	assert_int_equal(steps_sort(&s, &spare), 0);
	assert_null(spare.list);
	s.list[2] = (struct step){.time_ns = 4};
	s.count = 3;
	assert_int_equal(steps_sort(&s, &spare), 0);
	assert_int_equal(s.list[0].time_ns, 4);
	assert_int_equal(spare.count, 2);
	steps_done(&s);
	steps_done(&spare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),  cmocka_unit_test(test_late),
		cmocka_unit_test(test_any_order), cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
