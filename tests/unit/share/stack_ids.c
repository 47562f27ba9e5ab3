/* Shared numbers of backtraces: the same in every recording, others for other backtraces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/sums/stack_ids.h"
#include "tests/unit/query/recording.h"

static void test_numbers(void **state)
{
	struct test_recording a, b;
	struct stack_ids x = {0}, y = {0};

	(void)state;
	test_random_recording(&a, 1, 300, false);
	test_random_recording(&b, 1, 400, true);
	assert_int_equal(stack_ids_init(&x, a.view), 0);
	assert_int_equal(stack_ids_init(&y, b.view), 0);
	assert_int_equal(x.count, TEST_NODES);
	assert_int_equal(x.stack[0], 0);
	assert_int_equal(stack_id_of(&x, TEST_NODES + 1), 0);
	for (uint32_t i = 1; i <= x.count; i++) {
		assert_int_not_equal(x.stack[i], 0);
		assert_int_equal(x.stack[i], y.stack[i]);
		assert_int_equal(x.frame[i], y.frame[i]);
		for (uint32_t k = 1; k < i; k++)
			assert_int_not_equal(x.stack[i], x.stack[k]);
	}
	stack_ids_done(&x);
	stack_ids_done(&y);
	test_close(&a);
	test_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
