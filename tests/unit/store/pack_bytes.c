/* The bytes of packed values, as pack.h specifies them: which mode, width and scale are chosen at
 * the bounds between two, and what an unpacker refuses just beyond each bound. */
#include "collector/columns/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/bytes.h"

static uint64_t values[PACK_VALUES], back[PACK_VALUES];

static struct buf packed(uint32_t count, enum pack_hint hint)
{
	struct buf out = {0};
	struct reader in;

	pack_values(&out, values, count, hint);
	in = reader_of(out.data, out.length);
	assert_int_equal(unpack_values(&in, back, count), 0);
	assert_memory_equal(back, values, count * sizeof(*values));
	return out;
}

static void assert_packed(uint32_t count, enum pack_hint hint, const char *bytes, size_t length)
{
	struct buf out = packed(count, hint);

	assert_true(out.length >= length);
	assert_memory_equal(out.data, bytes, length);
	buf_done(&out);
}

static void assert_packed_whole(uint32_t count, const char *bytes, size_t length)
{
	struct buf out = packed(count, PACK_PLAIN);

	assert_int_equal(out.length, length);
	assert_memory_equal(out.data, bytes, length);
	buf_done(&out);
}

static void fill(uint32_t from, uint32_t to, uint64_t value)
{
	for (uint32_t i = from; i < to; i++)
		values[i] = value;
}

static void rise(uint32_t count, uint64_t from, uint64_t step)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = from + step * i;
}

static void test_one(void **state)
{
	(void)state;
	fill(0, 9, 300);
	assert_packed_whole(1, "\0\xac\x02", 3);
	assert_packed_whole(9, "\0\xac\x02", 3);
}

/* Eight numbers of three bits are three bytes, the first number lowest. */
#define EIGHT "\x88\xc6\xfa"

static void test_scale(void **state)
{
	(void)state;
	rise(8, 10, 1);
	assert_packed_whole(8, "\1\3\x0a\1\0" EIGHT, 8);
	rise(8, 10, 16);
	assert_packed_whole(8, "\1\3\x0a\x10\0" EIGHT, 8);
	rise(8, 10, PACK_TICK);
	assert_packed_whole(8, "\1\3\x0a\xe8\7\0" EIGHT, 9);
	/* One is no whole number of ticks: 8 divides all. */
	values[7] += 8;
	assert_packed(8, PACK_PLAIN, "\1\x0a\x0a\x08\0", 5);
	values[7] -= 4;
	assert_packed(8, PACK_PLAIN, "\1\x0b\x0a\x04\0", 5);
}

/* The lowest is the base, wherever it stands; a negative one is lower than 0. */
static void test_base(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 11; at++) {
		fill(0, 11, 50);
		values[(at + 1) % 11] = 54;
		values[at] = 3;
		for (uint32_t i = 0; i < 11; i++)
			values[i] += i == at ? 0 : i % 5;
		assert_packed(11, PACK_PLAIN, "\1\6\3\1\0", 5);
		values[at] = (uint64_t)-3;
		assert_packed(11, PACK_PLAIN, "\1\6\xfd\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0", 14);
	}
}

/* Low bits and exceptions together decide; of equals, fewer exceptions. */
static void test_exceptions(void **state)
{
	static const char one[] = "\1\0\0\1\1\1" /* width, base, scale, exceptions, high bits */
				  "\5\0\0\0\0\0\0\0\0\0\0\0" /* place */
				  "\1";			     /* high bit */

	(void)state;
	fill(0, 16, 0);
	values[5] = 1;
	assert_packed_whole(16, one, sizeof(one) - 1);
	/* 104 bits are as many as eight exceptions of 13 bits. */
	fill(0, 112, 0);
	fill(0, 8, 1);
	assert_packed_whole(104, "\1\1\0\1\0\xff\0\0\0\0\0\0\0\0\0\0\0\0", 18);
	assert_packed(105, PACK_PLAIN, "\1\0\0\1\x08\1", 6);
	/* Exceptions of different widths: two low bits, and one value of ten more. */
	for (uint32_t i = 0; i < 64; i++)
		values[i] = i % 4;
	values[60] = 0xfff;
	assert_packed(64, PACK_PLAIN, "\1\2\0\1\1", 5);
}

/* Of more than PACK_WIDTH_MAX bits are 64 stored. */
static void test_widest(void **state)
{
	(void)state;
	fill(0, 16, (1ull << PACK_WIDTH_MAX) - 1);
	values[3] = 0;
	assert_packed(16, PACK_PLAIN, "\1\x39\0\1\0", 5);
	fill(0, 16, (1ull << PACK_WIDTH_MAX) + 1);
	values[3] = 0;
	assert_packed(16, PACK_PLAIN, "\1\x40\0\1\0", 5);
	/* The same of an exception's high bits. */
	fill(0, 2, 0);
	values[1] = (1ull << PACK_WIDTH_MAX) - 1;
	assert_packed(2, PACK_PLAIN, "\1\0\0\1\1\x39", 6);
	values[1] = (1ull << PACK_WIDTH_MAX) + 1;
	assert_packed(2, PACK_PLAIN, "\1\0\0\1\1\x40", 6);
}

static void assert_mode(uint32_t count, enum pack_hint hint, unsigned mode)
{
	struct buf out = packed(count, hint);

	assert_int_equal(out.data[0], mode);
	buf_done(&out);
}

/* `different` values in turn, far from each other. */
static void scatter(uint32_t count, uint32_t different)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = (1 + i % different) * 0x9E3779B97F4A7C15ull;
}

static void test_dictionary(void **state)
{
	struct buf out;

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		values[i] = i % 2 * 0x123456789abcdf;
	out = packed(16, PACK_REPEATS);
	assert_memory_equal(out.data, "\2\2\1\0\0\1\1\x35", 8);
	assert_memory_equal(out.data + out.length - 3, "\1\xaa\xaa", 3);
	buf_done(&out);
	assert_mode(16, PACK_PLAIN, 1);
	/* At most half of the values, and 1,024. */
	scatter(6, 3);
	assert_mode(6, PACK_REPEATS, 2);
	scatter(6, 4);
	assert_mode(6, PACK_REPEATS, 1);
	scatter(PACK_VALUES, 1024);
	assert_mode(PACK_VALUES, PACK_REPEATS, 2);
	scatter(PACK_VALUES, 1025);
	assert_mode(PACK_VALUES, PACK_REPEATS, 1);
	/* One bit each can't be shortened. */
	rise(64, 0, 1);
	for (uint32_t i = 0; i < 64; i++)
		values[i] %= 2;
	assert_mode(64, PACK_REPEATS, 1);
}

/* Both readers say the same; `length` bytes are all there is. */
static void assert_read(const char *bytes, size_t length, uint32_t count, bool good)
{
	struct reader in = reader_of(bytes, length), over = in;

	assert_int_equal(unpack_values(&in, back, count) == 0, good);
	assert_int_equal(skip_values(&over, count) == 0, good);
	if (good)
		assert_int_equal(reader_left(&in), reader_left(&over));
}

static void test_refused(void **state)
{
	static char zeros[8 * 1024];

	(void)state;
	assert_read("\0\7", 2, 1, true);
	assert_read("\0\7", 2, PACK_VALUES, true);
	assert_read("\0\7", 2, 0, false);
	assert_read("\0\7", 2, PACK_VALUES + 1, false);
	assert_read("\3\7", 2, 1, false); /* no such mode */
	for (unsigned width = 0; width < 70; width++) {
		memcpy(zeros, "\1\0\0\1\0", 5);
		zeros[1] = (char)width;
		assert_read(zeros, 5 + width, 8, width <= PACK_WIDTH_MAX || width == 64);
		if (width)
			assert_read(zeros, 5 + width - 1, 8, false);
		assert_read(zeros, 5 + 2 * width, 9, width <= PACK_WIDTH_MAX || width == 64);
	}
	/* As many exceptions as values, and one more. */
	assert_read("\1\0\0\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, 2, true);
	assert_read("\1\0\0\1\3\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, 2, false);
	memset(zeros, 0, sizeof(zeros));
	memcpy(zeros, "\1\x40\0\1\1", 5); /* nothing is left for high bits */
	assert_read(zeros, 200, 2, false);
	memcpy(zeros, "\1\x39\0\1\1", 5);
	assert_read(zeros, 200, 2, true);
	memcpy(zeros, "\1\0\0\1\1\x40", 6);
	assert_read(zeros, 200, 2, true);
	memcpy(zeros, "\1\0\0\1\1\x41", 6);
	assert_read(zeros, 200, 2, false);
}

/* The places of exceptions are looked at by the unpacker alone. */
static void test_places(void **state)
{
	char bytes[] = "\1\0\0\1\1\1\0\0\0\0\0\0\0\0\0\0\0\0\1";
	struct reader in;

	(void)state;
	for (uint8_t place = 0; place < 4; place++) {
		bytes[6] = (char)place;
		in = reader_of(bytes, sizeof(bytes) - 1);
		assert_int_equal(unpack_values(&in, back, 3) == 0, place < 3);
		if (place < 3)
			assert_int_equal(back[place], 1);
	}
}

static void test_dictionary_refused(void **state)
{
	static char bytes[8 * 1024];

	(void)state;
	assert_read("\2\1\0\7\0", 5, 4, true);
	assert_read("\2\0\0\7\0", 5, 4, false);
	assert_read("\2\x80\x08\0\7\0", 6, 4, true); /* 1,024 */
	assert_read("\2\x81\x08\0\7\0", 6, 4, false);
	assert_read("\2\1\2\1\0\7\0", 7, 4, false); /* a dictionary in a dictionary */
	memcpy(bytes, "\2\1\0\7\x0c", 5);
	assert_read(bytes, 5 + 12, 4, true);
	assert_read(bytes, 5 + 11, 4, false);
	memcpy(bytes, "\2\1\0\7\x0d", 5);
	assert_read(bytes, 5 + 13, 4, false);
	/* An index beyond the entries is 0. */
	assert_read("\2\1\0\7\1\2", 6, 2, true);
	assert_int_equal(back[0], 7);
	assert_int_equal(back[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_widest),
		cmocka_unit_test(test_dictionary),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_dictionary_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
