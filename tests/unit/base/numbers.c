/* Arithmetic that does not wrap around, at its ends; and checksums and logarithms against values
 * that are known. */
#include "base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "base/exponential.h"
#include "base/hash.h"
#include "base/saturated.h"

static void test_less(void **state)
{
	(void)state;
	assert_int_equal(less(5, 3), 2);
	assert_int_equal(less(5, 5), 0);
	assert_int_equal(less(5, 6), 0);
}

static void test_below(void **state)
{
	static const uint64_t list[] = {10, 20, 20, 30};

	(void)state;
	assert_int_equal(numbers_below(list, 0, 5), 0);
	assert_int_equal(numbers_below(list, 4, 10), 0);
	assert_int_equal(numbers_below(list, 4, 11), 1);
	assert_int_equal(numbers_below(list, 4, 20), 1);
	assert_int_equal(numbers_below(list, 4, 21), 3);
	assert_int_equal(numbers_below(list, 4, 30), 3);
	assert_int_equal(numbers_below(list, 4, 31), 4);
	assert_int_equal(numbers_below(list, 3, 31), 3);
}

static void test_most(void **state)
{
	uint64_t sum = UINT64_MAX - 2;

	(void)state;
	assert_true(sum_most(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(sum_most(UINT64_MAX, 1) == UINT64_MAX);
	assert_int_equal(sum_most(3, 4), 7);
	add_most(&sum, 1);
	assert_true(sum == UINT64_MAX - 1);
	add_most(&sum, 100);
	assert_true(sum == UINT64_MAX);
	assert_int_equal(product_most(6, 7), 42);
	assert_true(product_most(1ull << 32, 1ull << 32) == UINT64_MAX);
	assert_true(product_most(1ull << 32, 1ull << 31) == 1ull << 63);
}

static void test_difference(void **state)
{
	(void)state;
	assert_true(difference_most(5, 3) == 2);
	assert_true(difference_most(3, 5) == -2);
	assert_true(difference_most(4, 4) == 0);
	assert_true(difference_most(UINT64_MAX, 0) == INT64_MAX);
	assert_true(difference_most(0, UINT64_MAX) == -INT64_MAX);
	assert_true(difference_most(INT64_MAX, 0) == INT64_MAX);
	assert_true(difference_most(0, INT64_MAX) == -INT64_MAX);
	assert_true(difference_most(0, 1ull << 63) == -INT64_MAX);
}

static void test_whole(void **state)
{
	(void)state;
	assert_int_equal(whole_most(-1), 0);
	assert_int_equal(whole_most(0), 0);
	assert_int_equal(whole_most(0.49), 0);
	assert_int_equal(whole_most(0.5), 1);
	assert_int_equal(whole_most(2.5), 3);
	assert_true(whole_most(18446744073709549568.0) == UINT64_MAX);
	assert_true(whole_most(18446744073709547520.0) == 18446744073709547520u);
	assert_true(whole_most(1e30) == UINT64_MAX);
}

/* The check value of CRC-32/ISO-HDLC, at once and in pieces. */
static void test_crc32(void **state)
{
	(void)state;
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_add(crc32_add(0, "1234", 4), "56789", 5), 0xcbf43926);
	assert_int_equal(crc32_add(0, "", 0), 0);
	assert_int_equal(crc32_add(0, "a", 1), 0xe8b7be43);
}

static void test_leading_zeros(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		assert_int_equal(leading_zeros(1ull << bit), 63 - bit);
		assert_int_equal(leading_zeros(UINT64_MAX >> bit), bit);
	}
}

static void test_log2(void **state)
{
	static const uint64_t values[] = {1,	     2, 3, 1000, 1ull << 40, 0xfedcba9876543210,
					  UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		double wanted = log2((double)values[i]) * 16777216;
		double error = wanted - (double)log2_fixed(values[i]);

		assert_true(error > -0.01 && error < 1.5);
	}
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(log2_fixed(1ull << bit), (uint64_t)bit << 24);
}

/* SplitMix64's first numbers from 0 (the reference implementation prints them). */
static void test_random(void **state)
{
	uint64_t s = 0;

	(void)state;
	assert_true(random_next(&s) == 0xe220a8397b1dcdaf);
	assert_true(random_next(&s) == 0x6e789e6aa1b965f4);
	assert_true(random_next(&s) == 0x06c45d188009454f);
}

/* Each distance is that of the formula; all together have the mean that was asked for. */
static void test_exponential(void **state)
{
	const uint64_t mean = 1 << 20;
	uint64_t s = 1, same = 1;
	double sum = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		double u = (double)random_next(&same) / 18446744073709551616.0;
		uint64_t distance = exponential(&s, mean);

		assert_true(fabs((double)distance + log(u) * (double)mean) < 2);
		sum += (double)distance;
	}
	assert_true(fabs(sum / 100000 / (double)mean - 1) < 0.01);
}

/* Every byte and the length change the hash, and so does the key. */
static void test_hash(void **state)
{
	struct hash_key key = {{123, 457}}, other = {{123, 459}}, third = {{124, 457}};
	uint8_t data[20] = {0};

	(void)state;
	for (size_t length = 0; length <= sizeof(data); length++) {
		uint64_t hash = hash_bytes(&key, data, length);

		assert_true(hash == hash_bytes(&key, data, length));
		assert_true(hash != hash_bytes(&other, data, length));
		assert_true(hash != hash_bytes(&third, data, length));
		if (length)
			assert_true(hash != hash_bytes(&key, data, length - 1));
		for (size_t i = 0; i < sizeof(data); i++) {
			data[i] = 1;
			assert_int_equal(hash != hash_bytes(&key, data, length), i < length);
			data[i] = 0;
		}
	}
}

static void test_hash_key(void **state)
{
	struct hash_key one, two;

	(void)state;
	hash_key_choose(&one);
	hash_key_choose(&two);
	assert_true(memcmp(&one, &two, sizeof(one)));
	assert_true(one.word[1] & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_less),	      cmocka_unit_test(test_below),
		cmocka_unit_test(test_most),	      cmocka_unit_test(test_difference),
		cmocka_unit_test(test_whole),	      cmocka_unit_test(test_crc32),
		cmocka_unit_test(test_leading_zeros), cmocka_unit_test(test_log2),
		cmocka_unit_test(test_random),	      cmocka_unit_test(test_exponential),
		cmocka_unit_test(test_hash),	      cmocka_unit_test(test_hash_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
