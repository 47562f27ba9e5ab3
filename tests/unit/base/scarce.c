/* The base when memory runs out: each failed allocation is told, and what was there before stays.
 */
#include "tests/unit/scarce.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/spawn.h"
#include "base/words.h"

#define MANY 300 /* the tables grow a few times */

/* Once more, with memory, everything is there: nothing was half done. */
static int intern_many(void *context)
{
	struct intern intern = {0};
	int r = 0;

	(void)context;
	for (uint32_t n = 1; n <= MANY; n++) {
		char text[4096] = {0};
		uint32_t number;

		snprintf(text, sizeof(text), "name %u", n);
		number = intern_bytes(&intern, text, sizeof(text));
		if (!number) {
			r = -ENOMEM;
			assert_int_equal(intern.count, n - 1);
			assert_int_equal(intern_find(&intern, text, sizeof(text)), 0);
			number = intern_bytes(&intern, text, sizeof(text));
		}
		assert_int_equal(number, n);
		assert_string_equal(intern_get(&intern, n), text);
		assert_int_equal(intern_find(&intern, text, sizeof(text)), n);
	}
	intern_done(&intern);
	return r;
}

static void names_are_not_lost(void **state)
{
	(void)state;
	/* Tables of 64 to 1024 places, lists of 64 to 512 names, chunks of 63 names. */
	assert_int_equal(scarce_each(intern_many, NULL), 5 + 4 + 5);
}

static int put_many(void *context)
{
	struct map map = {0};
	int r = 0;

	(void)context;
	for (uint64_t n = 1; n <= MANY; n++) {
		uint64_t *value = map_put(&map, n, NULL);

		if (!value) {
			r = -ENOMEM;
			assert_int_equal(map.count, n - 1);
			assert_null(map_get(&map, n));
			value = map_put(&map, n, NULL);
		}
		assert_non_null(value);
		*value = n;
	}
	for (uint64_t n = 1; n <= MANY; n++)
		assert_int_equal(*map_get(&map, n), n);
	map_done(&map);
	return r;
}

static void keys_are_not_lost(void **state)
{
	(void)state;
	assert_int_equal(scarce_each(put_many, NULL), 4); /* 64 to 512 places */
}

/* All of these keys have their home near the first slot. */
static int put_crowd(void *context)
{
	struct map map = {0};
	uint64_t inverse = 1, odd = 0x9E3779B97F4A7C15ull;
	int r = 0;

	(void)context;
	for (int i = 0; i < 6; i++)
		inverse *= 2 - odd * inverse; /* modulo 2^64 */
	for (uint64_t n = 1; n <= 2500; n++) {
		uint64_t *value = map_put(&map, n * inverse, NULL);

		if (!value) {
			r = -ENOMEM;
			value = map_put(&map, n * inverse, NULL);
		}
		assert_non_null(value);
		*value = n;
	}
	assert_int_equal(map.count, 2500);
	for (uint64_t n = 1; n <= 2500; n++)
		assert_int_equal(*map_get(&map, n * inverse), n);
	map_done(&map);
	return r;
}

static void crowded_keys_are_not_lost(void **state)
{
	(void)state;
	/* 64 to 4096 places; that another factor can't be taken is no error. */
	assert_int_equal(scarce_each(put_crowd, NULL), 7);
}

static int append_many(void *context)
{
	struct buf b = {0};
	int r;

	(void)context;
	for (unsigned i = 0; i < 200; i++)
		buf_u32le(&b, i);
	assert_true(!buf_error(&b) || b.length < 800);
	r = buf_error(&b);
	if (r) {
		size_t before = b.length;

		buf_byte(&b, 1); /* nothing follows a gap */
		assert_int_equal(b.length, before);
		assert_null(buf_text(&b));
	}
	for (unsigned i = 0; i < b.length / 4; i++)
		assert_int_equal(b.data[4 * i], i & 0xff);
	buf_done(&b);
	return r;
}

static void bytes_have_no_gap(void **state)
{
	(void)state;
	assert_int_equal(scarce_each(append_many, NULL), 3); /* 256, 512, 1024 bytes */
}

static int reserve_more(void *context)
{
	uint32_t *array = NULL, capacity = 0;
	int r = 0;

	(void)context;
	for (uint32_t n = 1; n <= 40; n++) {
		uint32_t before = capacity;

		if (array_reserve(&array, &capacity, n, sizeof(*array))) {
			r = -ENOMEM;
			assert_int_equal(capacity, before);
			assert_int_equal(array_reserve(&array, &capacity, n, sizeof(*array)), 0);
		}
		assert_int_equal(array[n - 1], 0);
		array[n - 1] = n;
	}
	for (uint32_t n = 1; n <= 40; n++)
		assert_int_equal(array[n - 1], n);
	free(array);
	return r;
}

static void elements_stay(void **state)
{
	(void)state;
	assert_int_equal(scarce_each(reserve_more, NULL), 3); /* 16, 32, 64 elements */
}

static int copy_words(void *context)
{
	char *copy = words_copy(context, strlen(context), 100);

	if (!copy)
		return -ENOMEM;
	assert_string_equal(copy, context);
	free(copy);
	return 0;
}

static int copy_environment(void *context)
{
	char **copy = spawn_environment();

	(void)context;
	if (!copy)
		return -ENOMEM;
	free(copy);
	return 0;
}

static void copies_are_whole_or_none(void **state)
{
	char text[] = "a few words";

	(void)state;
	assert_int_equal(scarce_each(copy_words, text), 1);
	assert_int_equal(scarce_each(copy_environment, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_not_lost),
		cmocka_unit_test(keys_are_not_lost),
		cmocka_unit_test(crowded_keys_are_not_lost),
		cmocka_unit_test(bytes_have_no_gap),
		cmocka_unit_test(elements_stay),
		cmocka_unit_test(copies_are_whole_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
