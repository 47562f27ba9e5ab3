/* Numbers of DWARF: each in full, up to its last bit, and what ends in its middle. */
#include "agent/unwind/leb.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BYTES(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define NINE(x)	   x, x, x, x, x, x, x, x, x

static const struct {
	uint8_t bytes[16];
	size_t length;
	uint64_t unsigned_value;
	int64_t signed_value;
} numbers[] = {
	{BYTES(0), 0, 0},
	{BYTES(1), 1, 1},
	{BYTES(0x3f), 63, 63},
	{BYTES(0x40), 64, -64},
	{BYTES(0x7f), 127, -1},
	{BYTES(0x80, 0), 0, 0},
	{BYTES(0xff, 0), 127, 127},
	{BYTES(0x80, 1), 128, 128},
	{BYTES(0x80, 0x3f), 8064, 8064},
	{BYTES(0x80, 0x40), 8192, -8192},
	{BYTES(0x80, 0x7f), 16256, -128},
	{BYTES(0xe5, 0x8e, 0x26), 624485, 624485},
	{BYTES(0xc0, 0xbb, 0x78), 1973696, -123456},
	/* 63 bits: the sign is the last one that there is room for. */
	{BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40), 0x4000000000000000,
	 -0x4000000000000000},
	{BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3f), 0x3f00000000000000,
	 0x3f00000000000000},
	/* 70 bits: those beyond 64 are dropped. */
	{BYTES(NINE(0xff), 0x01), UINT64_MAX, -1},
	{BYTES(NINE(0xff), 0x7f), UINT64_MAX, -1},
	{BYTES(NINE(0x80), 0x7e), 0, 0},
	{BYTES(NINE(0x80), 0x7f), 0x8000000000000000, INT64_MIN},
	{BYTES(NINE(0x80), 0x81, 0x7f), 0x8000000000000000, INT64_MIN},
	{BYTES(NINE(0x80), 0x80, 0x80, 0x7f), 0, 0},
};

static void test_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (size_t more = 0; more < 2; more++) {
			size_t length = numbers[i].length;
			struct reader u = reader_of(numbers[i].bytes, length + more), s = u;

			assert_true(reader_uleb(&u) == numbers[i].unsigned_value);
			assert_true(reader_sleb(&s) == numbers[i].signed_value);
			assert_int_equal(u.error, 0);
			assert_int_equal(s.error, 0);
			assert_int_equal(reader_more(&u), more);
			assert_int_equal(reader_more(&s), more);
		}
}

/* Without its end a number is 0, and an error. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (size_t length = 0; length < numbers[i].length; length++) {
			struct reader u = reader_of(numbers[i].bytes, length), s = u;

			assert_true(reader_uleb(&u) == 0);
			assert_true(reader_sleb(&s) == 0);
			assert_int_equal(u.error, -EBADMSG);
			assert_int_equal(s.error, -EBADMSG);
		}
}

/* In the order of this machine, at any place. */
static void test_host(void **state)
{
	uint8_t bytes[16] = {0};
	const uint16_t a = 0x1234;
	const uint32_t b = 0x56789abc;
	const uint64_t c = 0x1122334455667788;
	struct reader r;

	(void)state;
	memcpy(bytes + 1, &a, sizeof(a));
	memcpy(bytes + 3, &b, sizeof(b));
	memcpy(bytes + 7, &c, sizeof(c));
	r = reader_of(bytes + 1, 14);
	assert_int_equal(reader_host_u16(&r), a);
	assert_int_equal(reader_host_u32(&r), b);
	assert_true(reader_host_u64(&r) == c);
	assert_false(reader_more(&r));
	assert_int_equal(r.error, 0);
	for (size_t length = 0; length < 8; length++) {
		r = reader_of(bytes + 7, length);
		assert_true(reader_host_u64(&r) == 0);
		assert_true(r.error < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
