/* Packed values come back as they were; what is damaged does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "collector/columns/pack.h"

static uint64_t seed = 1;

static uint64_t pick(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) ^ seed << 31;
}

static uint32_t count_of(unsigned round)
{
	static const uint32_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 4095, 4096};

	return counts[round % (sizeof(counts) / sizeof(counts[0]))];
}

static size_t round_trip(const uint64_t *values, uint32_t count, enum pack_hint hint)
{
	static uint64_t back[PACK_VALUES];
	struct buf packed = {0};
	struct reader in;
	size_t length;
	uint8_t *exact;

	pack_values(&packed, values, count, hint);
	assert_int_equal(buf_error(&packed), 0);
	/* Of the exact length, so that a sanitizer sees who reads beyond. */
	length = packed.length;
	exact = malloc(length);
	memcpy(exact, packed.data, length);
	in = reader_of(exact, length);
	assert_int_equal(unpack_values(&in, back, count), 0);
	assert_int_equal(reader_left(&in), 0);
	assert_memory_equal(back, values, count * sizeof(*values));
	in = reader_of(exact, length);
	assert_int_equal(skip_values(&in, count), 0);
	assert_int_equal(reader_left(&in), 0);
	free(exact);
	buf_done(&packed);
	return length;
}

/* Every width, with and without values that stick out. */
static void widths(void **state)
{
	static uint64_t values[PACK_VALUES];

	(void)state;
	for (unsigned width = 0; width <= 64; width++)
		for (unsigned round = 0; round < 28; round++) {
			uint32_t count = count_of(round);
			uint64_t base = pick(),
				 mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;

			for (uint32_t i = 0; i < count; i++)
				values[i] = base + (pick() & mask);
			if (round % 2)
				values[pick() % count] = pick();
			round_trip(values, count, PACK_PLAIN);
			round_trip(values, count, PACK_REPEATS);
		}
}

static void repeats(void **state)
{
	static uint64_t values[PACK_VALUES], different[2048];

	(void)state;
	for (unsigned n = 1; n <= 2048; n += 1 + n / 3)
		for (unsigned round = 0; round < 14; round++) {
			uint32_t count = count_of(round);

			for (unsigned i = 0; i < n; i++)
				different[i] = pick() >> pick() % 64;
			for (uint32_t i = 0; i < count; i++)
				values[i] = different[pick() % n];
			round_trip(values, count, PACK_REPEATS);
		}
}

static void extremes(void **state)
{
	static uint64_t values[PACK_VALUES];
	static const uint64_t some[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, (1ull << 63) - 1, 1000, 1ull << 57};

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		uint32_t count = count_of(round);

		for (uint32_t i = 0; i < count; i++)
			values[i] = some[pick() % (1 + round % 8)];
		round_trip(values, count, round % 2 ? PACK_PLAIN : PACK_REPEATS);
	}
}

/* What blocks are made of stays small. */
static void sizes(void **state)
{
	static uint64_t values[PACK_VALUES];

	(void)state;
	for (uint32_t i = 0; i < PACK_VALUES; i++)
		values[i] = 42;
	assert_true(round_trip(values, PACK_VALUES, PACK_PLAIN) <= 2);
	for (uint32_t i = 0; i < PACK_VALUES; i++)
		values[i] = 0x7f0000000000 + i % 256 * 16;
	assert_true(round_trip(values, PACK_VALUES, PACK_PLAIN) <= PACK_VALUES + 32);
	for (uint32_t i = 0; i < PACK_VALUES; i++)
		values[i] = pick() % 16 * 1000;
	assert_true(round_trip(values, PACK_VALUES, PACK_PLAIN) <= PACK_VALUES / 2 + 32);
	/* A few lifetimes are long. */
	for (uint32_t i = 0; i < PACK_VALUES; i++)
		values[i] = i % 100 ? pick() % 16 : pick() >> 2;
	assert_true(round_trip(values, PACK_VALUES, PACK_PLAIN) <= PACK_VALUES * 3 / 4);
	for (uint32_t i = 0; i < PACK_VALUES; i++)
		values[i] = (uint64_t)i % 8 * 0x123456789abcdef;
	assert_true(round_trip(values, PACK_VALUES, PACK_REPEATS) <= PACK_VALUES * 3 / 8 + 128);
}

/* Every byte of it changed, and cut everywhere: an error or other values, and nothing worse. */
static void damage(void **state)
{
	static uint64_t values[PACK_VALUES], back[PACK_VALUES];

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct buf packed = {0};

		for (uint32_t i = 0; i < 300; i++)
			values[i] = kind == 0	? 7
				    : kind == 1 ? pick() % 1000
				    : kind == 2 ? (i % 50 ? pick() % 32 : pick())
						: pick() % 5 << 50;
		pack_values(&packed, values, 300, PACK_REPEATS);
		for (size_t i = 0; i < packed.length; i++) {
			for (unsigned bit = 0; bit < 8; bit++) {
				uint8_t *copy = malloc(packed.length);
				struct reader in = reader_of(copy, packed.length), over = in;
				int passed;

				memcpy(copy, packed.data, packed.length);
				copy[i] ^= (uint8_t)(1 << bit);
				passed = skip_values(&over, 300);
				if (unpack_values(&in, back, 300) == 0) {
					assert_int_equal(passed, 0);
					assert_int_equal(reader_left(&over), reader_left(&in));
				}
				free(copy);
			}
			struct reader cut = reader_of(packed.data, i), over = cut;

			assert_int_not_equal(unpack_values(&cut, back, 300), 0);
			assert_int_not_equal(skip_values(&over, 300), 0);
		}
		buf_done(&packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths), cmocka_unit_test(repeats), cmocka_unit_test(extremes),
		cmocka_unit_test(sizes),  cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
