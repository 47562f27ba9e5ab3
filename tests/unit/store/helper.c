/* Helper threads: as many as there are processors, and a place is free again when one has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/columns/helper.h"

#define MOST 256

static atomic_uint ran;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *argument)
{
	pthread_mutex_lock(&gate);
	ran += *(unsigned *)argument;
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void test_places(void **state)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned places = processors < 2 ? 0 : (unsigned)processors, one = 1;
	static struct helper helpers[MOST + 1];

	(void)state;
	if (places > MOST)
		skip();
	helper_join(&helpers[0]); /* was never started */
	for (unsigned round = 0; round < 2; round++) {
		ran = 0;
		pthread_mutex_lock(&gate);
		for (unsigned i = 0; i < places; i++) {
			assert_true(helper_start(&helpers[i], run, &one));
			assert_true(helpers[i].running);
		}
		assert_false(helper_start(&helpers[places], run, &one));
		assert_false(helpers[places].running);
		pthread_mutex_unlock(&gate);
		for (unsigned i = 0; i < places; i++) {
			helper_join(&helpers[i]);
			assert_false(helpers[i].running);
			assert_true(ran > i);
			helper_join(&helpers[i]); /* once is enough */
		}
		assert_int_equal(ran, places);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
