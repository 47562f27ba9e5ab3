/* A recording that is compressed and restored on a disk that fails: nothing of it is lost. */
#include "tests/unit/failing.h"

#include "tests/unit/descriptors.h"
#include "tests/unit/store/compress_round.h"

static void each_call(void **state)
{
	unsigned opened = descriptors_open();

	(void)state;
	assert_true(failing_each(round_do, NULL) > 10);
	assert_int_equal(round_read(), 0);
	assert_int_equal(round_do(NULL), 0);
	assert_int_equal(descriptors_open(), opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call, round_begin, round_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
