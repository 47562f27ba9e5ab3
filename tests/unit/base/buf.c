/* The growable buffer: contents, limits, failures that stay, moving out. */
#include "base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void appends_keep_order(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_string(&b, "ab");
	buf_byte(&b, 'c');
	buf_append(&b, "", 0);
	buf_printf(&b, "%d-%s", 42, "x");
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.length, 7);
	assert_string_equal(buf_text(&b), "abc42-x");
	assert_int_equal(b.length, 7);
	buf_done(&b);
	assert_null(b.data);
}

static void grows_past_any_capacity(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		buf_byte(&b, (uint8_t)(i * 7));
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.length, 100000);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (uint8_t)(i * 7));
	buf_done(&b);
}

static void printf_across_a_reallocation(void **state)
{
	struct buf b = {0};
	char expected[16];

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_printf(&b, "%05d,", i);
	assert_int_equal(b.length, 18000);
	for (int i = 0; i < 3000; i++) {
		snprintf(expected, sizeof(expected), "%05d,", i);
		assert_memory_equal(b.data + i * 6, expected, 6);
	}
	buf_done(&b);
}

static void limit_stops_and_stays(void **state)
{
	struct buf b = {.limit = 300};

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_byte(&b, 1);
	assert_int_equal(buf_error(&b), 0);
	buf_append(&b, "xy", 2);
	assert_int_equal(buf_error(&b), -EMSGSIZE);
	assert_int_equal(b.length, 300);
	assert_null(buf_reserve(&b, 0));
	buf_string(&b, "");
	assert_int_equal(b.length, 300);
	buf_clear(&b);
	assert_int_equal(buf_error(&b), 0);
	buf_string(&b, "again");
	assert_int_equal(b.length, 5);
	buf_done(&b);
	assert_int_equal(b.limit, 300);
}

static void reserve_that_overflows_fails(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_byte(&b, 1);
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_int_equal(buf_error(&b), -EMSGSIZE);
	buf_done(&b);
}

static void consume_drops_the_front(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_string(&b, "0123456789");
	buf_consume(&b, 3);
	assert_string_equal(buf_text(&b), "3456789");
	buf_consume(&b, 0);
	assert_int_equal(b.length, 7);
	buf_consume(&b, 100);
	assert_int_equal(b.length, 0);
	assert_string_equal(buf_text(&b), "");
	buf_done(&b);
}

static void take_moves_out(void **state)
{
	struct buf b = {.limit = 1000};
	size_t length = 0;
	uint8_t *data;

	(void)state;
	buf_string(&b, "mine");
	data = buf_take(&b, &length);
	assert_int_equal(length, 4);
	assert_memory_equal(data, "mine", 4);
	assert_null(b.data);
	assert_int_equal(b.length, 0);
	assert_int_equal(b.limit, 1000);
	free(data);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_keep_order),
		cmocka_unit_test(grows_past_any_capacity),
		cmocka_unit_test(printf_across_a_reallocation),
		cmocka_unit_test(limit_stops_and_stays),
		cmocka_unit_test(reserve_that_overflows_fails),
		cmocka_unit_test(consume_drops_the_front),
		cmocka_unit_test(take_moves_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
