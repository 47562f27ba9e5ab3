/* Interning against the plainest model: the n-th new string has the number n, and stays where it
 * is, whatever the table grows to. */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY 5000

static void test_numbers(void **state)
{
	static const char *data[MANY + 1];
	struct intern intern = {0};

	(void)state;
	assert_int_equal(intern_find(&intern, "x", 1), 0);
	for (uint32_t n = 1; n <= MANY; n++) {
		char text[32];
		int length = snprintf(text, sizeof(text), "name %u", n * 7919);

		assert_int_equal(intern_find(&intern, text, (size_t)length), 0);
		assert_int_equal(intern_text(&intern, text), n);
		assert_int_equal(intern_text(&intern, text), n);
		assert_int_equal(intern_find(&intern, text, (size_t)length), n);
		data[n] = intern_get(&intern, n);
		assert_string_equal(data[n], text);
		assert_int_equal((uintptr_t)data[n] % 8, 0);
		/* At most half full, so that look-ups stay short and end. */
		assert_true(intern.table_capacity >= 2 * n && intern.table_capacity <= 4 * n + 64);
		assert_true(intern.items_capacity > n);
	}
	for (uint32_t n = 1; n <= MANY; n++)
		assert_ptr_equal(intern_get(&intern, n), data[n]);
	assert_int_equal(intern.count, MANY);
	assert_null(intern_get(&intern, 0));
	assert_null(intern_get(&intern, MANY + 1));
	intern_done(&intern);
	assert_int_equal(intern.count, 0);
	assert_null(intern.chunks);
}

/* Equal are bytes and lengths, zeroes included. */
static void test_bytes(void **state)
{
	struct intern intern = {0};

	(void)state;
	assert_int_equal(intern_bytes(&intern, "", 0), 1);
	assert_int_equal(intern_bytes(&intern, "\0", 1), 2);
	assert_int_equal(intern_bytes(&intern, "\0\0", 2), 3);
	assert_int_equal(intern_bytes(&intern, "\0a", 2), 4);
	assert_int_equal(intern_pair(&intern, 1, 2), 5);
	assert_int_equal(intern_pair(&intern, 2, 1), 6);
	assert_int_equal(intern_pair(&intern, 1, 2), 5);
	assert_int_equal(intern.items[4].length, 2);
	intern_done(&intern);
}

/* Strings about as long as a chunk: each is whole, and a NUL follows. */
static void test_chunks(void **state)
{
	const size_t chunk = 256 << 10;
	char *text = malloc(chunk + 100);
	struct intern intern;

	(void)state;
	assert_non_null(text);
	for (size_t length = chunk - 20; length < chunk + 20; length++) {
		const char *kept;

		intern = (struct intern){0};
		memset(text, 'x', length);
		assert_int_equal(intern_bytes(&intern, text, length), 1);
		memset(text, 'y', 30);
		assert_int_equal(intern_bytes(&intern, text, 30), 2);
		kept = intern_get(&intern, 1);
		assert_int_equal(strlen(kept), length);
		assert_int_equal(strspn(kept, "x"), length);
		assert_int_equal(strspn(intern_get(&intern, 2), "y"), 30);
		intern_done(&intern);
	}
	free(text);
}

/* The last number that there is was given out. */
static void test_no_number(void **state)
{
	struct intern intern = {.count = (1u << 31) - 2};

	(void)state;
	assert_int_equal(intern_bytes(&intern, "x", 1), 0);
}

/* Many short strings share a chunk. */
static void test_dense(void **state)
{
	struct intern intern = {0};
	const char *last = NULL;

	(void)state;
	for (uint8_t i = 0; i < 100; i++) {
		const uint8_t bytes[7] = {i};
		const char *data = intern_get(&intern, intern_bytes(&intern, bytes, 7));

		if (last)
			assert_ptr_equal(data, last + 8);
		last = data;
	}
	intern_done(&intern);
}

/* Each is followed by a NUL, whatever comes next; and by no more bytes than needed. */
static void test_neighbours(void **state)
{
	const char *kept[40];
	struct intern intern = {0};
	char text[] = "0123456789012345678901234567890123456789";

	(void)state;
	for (size_t length = 0; length < 40; length++) {
		uint32_t n = intern_bytes(&intern, text, length);

		kept[length] = intern_get(&intern, n);
		if (length)
			assert_ptr_equal(kept[length], kept[length - 1] + (length + 7) / 8 * 8);
	}
	for (size_t length = 0; length < 40; length++)
		assert_int_equal(strlen(kept[length]), length);
	intern_done(&intern);
}

/* What one table's sender may know of its key says nothing of another's. */
static void test_keys(void **state)
{
	struct intern one = {0}, other = {0};

	(void)state;
	intern_text(&one, "x");
	intern_text(&other, "x");
	assert_true(one.key.word[0] != other.key.word[0]);
	assert_true(one.items[1].hash != other.items[1].hash ||
		    one.key.word[1] != other.key.word[1]);
	intern_done(&one);
	intern_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_chunks),	cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_dense),	cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
