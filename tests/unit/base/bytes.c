/* Checked reading: every value there and back, every short input an error and never a byte beyond
 * the end. */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint64_t edges[] = {
	0,
	1,
	0x7f,
	0x80,
	0x3fff,
	0x4000,
	0xffffffff,
	0x100000000,
	INT64_MAX,
	(uint64_t)INT64_MAX + 1,
	UINT64_MAX - 1,
	UINT64_MAX,
};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void varints_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < EDGES; i++) {
		uint8_t row[VARINT_MAX];
		size_t length = (size_t)(varint_put(row, edges[i]) - row);
		struct reader r = reader_of(row, length);

		assert_true(length >= 1 && length <= VARINT_MAX);
		assert_int_equal(reader_varint(&r), edges[i]);
		assert_int_equal(reader_left(&r), 0);
		assert_int_equal(reader_error(&r), 0);
	}
}

static void varints_cut_short_are_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < EDGES; i++) {
		uint8_t row[VARINT_MAX];
		size_t length = (size_t)(varint_put(row, edges[i]) - row);

		for (size_t cut = 0; cut < length; cut++) {
			uint8_t *exact = malloc(cut ? cut : 1);
			struct reader r;

			memcpy(exact, row, cut);
			r = reader_of(exact, cut);
			assert_int_equal(reader_varint(&r), 0);
			assert_int_equal(reader_error(&r), -EBADMSG);
			free(exact);
		}
	}
}

static void varints_too_long_are_errors(void **state)
{
	static const uint8_t eleven[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					   0x80, 0x80, 0x80, 0x80, 0x01};
	static const uint8_t overflow[10] = {0xff, 0xff, 0xff, 0xff, 0xff,
					     0xff, 0xff, 0xff, 0xff, 0x02};
	struct reader r = reader_of(eleven, sizeof(eleven));

	(void)state;
	reader_varint(&r);
	assert_int_equal(reader_error(&r), -EBADMSG);
	r = reader_of(overflow, sizeof(overflow));
	reader_varint(&r);
	assert_int_equal(reader_error(&r), -EBADMSG);
}

static void zigzag_round_trip(void **state)
{
	static const int64_t values[] = {0, -1, 1, -2, 63, -64, INT64_MAX, INT64_MIN};

	(void)state;
	assert_int_equal(zigzag(-1), 1);
	assert_int_equal(zigzag(1), 2);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(unzigzag(zigzag(values[i])) == values[i]);
}

static void fixed_widths_are_little_endian(void **state)
{
	static const uint8_t row[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
	struct reader r = reader_of(row, sizeof(row));

	(void)state;
	assert_int_equal(reader_u8(&r), 1);
	assert_int_equal(reader_u32le(&r), 0x05040302);
	assert_true(reader_u64le(&r) == 0x0d0c0b0a09080706);
	assert_false(reader_more(&r));
	assert_int_equal(reader_error(&r), 0);
}

static void an_error_stays(void **state)
{
	static const uint8_t row[] = {1, 2, 3};
	struct reader r = reader_of(row, sizeof(row));

	(void)state;
	assert_int_equal(reader_u32le(&r), 0);
	assert_int_equal(reader_error(&r), -EBADMSG);
	assert_int_equal(r.offset, 0);
	assert_int_equal(reader_u8(&r), 0);
	assert_null(reader_bytes(&r, 0));
	assert_false(reader_more(&r));
}

static void huge_lengths_do_not_wrap(void **state)
{
	static const uint8_t row[] = {1, 2, 3};
	struct reader r = reader_of(row, sizeof(row));

	(void)state;
	reader_u8(&r);
	assert_null(reader_bytes(&r, SIZE_MAX));
	assert_int_equal(reader_error(&r), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_round_trip),
		cmocka_unit_test(varints_cut_short_are_errors),
		cmocka_unit_test(varints_too_long_are_errors),
		cmocka_unit_test(zigzag_round_trip),
		cmocka_unit_test(fixed_widths_are_little_endian),
		cmocka_unit_test(an_error_stays),
		cmocka_unit_test(huge_lengths_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
