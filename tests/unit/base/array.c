/* Rows that grow: what was there stays, what is new is zero, and too much is refused without
 * harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>

#include <cmocka.h>

#include "base/array.h"

static void test_grows(void **state)
{
	uint64_t *row = NULL;
	uint32_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(array_reserve(&row, &capacity, i + 1, sizeof(*row)), 0);
		assert_true(capacity > i);
		assert_int_equal(row[i], 0);
		row[i] = ~(uint64_t)i;
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(row[i], ~(uint64_t)i);
	assert_true(capacity < 10000);
	free(row);
}

/* No more than twice what is wanted, and not more than it where it is a power of two. */
static void test_capacities(void **state)
{
	uint32_t capacity = 0;
	char *row = NULL;

	(void)state;
	for (uint32_t wanted = 16; wanted <= 1024; wanted *= 2) {
		assert_int_equal(array_reserve(&row, &capacity, wanted, 1), 0);
		assert_int_equal(capacity, wanted);
		assert_int_equal(array_reserve(&row, &capacity, wanted - 1, 1), 0);
		assert_int_equal(capacity, wanted);
	}
	free(row);
}

static void test_refuses(void **state)
{
	uint32_t capacity = 0;
	char *row = NULL;

	(void)state;
	assert_int_equal(array_reserve(&row, &capacity, 1, 1), 0);
	row[0] = 'x';
	assert_int_equal(array_reserve(&row, &capacity, UINT64_MAX, 1), -ENOMEM);
	assert_int_equal(array_reserve(&row, &capacity, UINT32_MAX, 1), -ENOMEM);
	assert_int_equal(array_reserve(&row, &capacity, UINT32_MAX / 2, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(row[0], 'x');
	assert_int_equal(capacity, 16);
	assert_int_equal(array_reserve(&row, &capacity, 17, SIZE_MAX / 32 + 2), -ENOMEM);
	free(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_capacities),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
