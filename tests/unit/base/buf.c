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
#include <wchar.h>

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

static void numbers_are_appended(void **state)
{
	static const uint8_t expected[] = {0,	 0x7f, 0x80, 1,	   0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 1,	 4,    3,    2,	   1,
					   8,	 7,    6,    5,	   4,	 3,    2,    1};
	struct buf b = {0}, full = {.limit = 5};

	(void)state;
	buf_varint(&b, 0);
	buf_varint(&b, 127);
	buf_varint(&b, 128);
	buf_varint(&b, UINT64_MAX);
	buf_u32le(&b, 0x01020304);
	buf_u64le(&b, 0x0102030405060708);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.length, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
	buf_done(&b);
	buf_byte(&full, 'x');
	buf_varint(&full, 1);
	assert_int_equal(buf_error(&full), -EMSGSIZE);
	assert_int_equal(full.length, 1);
	buf_varint(&full, 1);
	assert_int_equal(full.length, 1);
	buf_done(&full);
}

/* What printf can't write is an error, and the first error stays. */
static void what_printf_refuses(void **state)
{
	static const wchar_t none[] = {0xd800, 0}; /* no character in any locale */
	struct buf b = {.limit = 4};

	(void)state;
	buf_printf(&b, "%s", "");
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal(buf_text(&b), "");
	buf_printf(&b, "%ls", none);
	assert_int_equal(buf_error(&b), -EINVAL);
	assert_int_equal(b.length, 0);
	buf_clear(&b);
	buf_printf(&b, "%s", "abcd"); /* its NUL has no room */
	assert_int_equal(buf_error(&b), -EMSGSIZE);
	buf_printf(&b, "%ls", none);
	assert_int_equal(buf_error(&b), -EMSGSIZE);
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
		cmocka_unit_test(numbers_are_appended),
		cmocka_unit_test(what_printf_refuses),
		cmocka_unit_test(limit_stops_and_stays),
		cmocka_unit_test(reserve_that_overflows_fails),
		cmocka_unit_test(consume_drops_the_front),
		cmocka_unit_test(take_moves_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
