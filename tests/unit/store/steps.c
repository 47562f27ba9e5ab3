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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
