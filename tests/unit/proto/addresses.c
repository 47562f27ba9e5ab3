/* What both sides guess of an allocator. A recording is read with the guesses that it was written
 * with: these numbers may not change. */
#include "proto/addresses.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* glibc's chunks: a word for the size, and multiples of two words, two of them at least. */
static void test_chunks(void **state)
{
	static const struct {
		uint64_t size, chunk;
		unsigned class;
	} cases[] = {
		{0, 32, 0},	  {1, 32, 0},	    {24, 32, 0},      {25, 48, 1},
		{40, 48, 1},	  {41, 64, 2},	    {56, 64, 2},      {57, 80, 3},
		{100, 112, 5},	  {1000, 1008, 61}, {1016, 1024, 62}, {1017, 1040, 63},
		{1032, 1040, 63}, {1033, 1056, 64}, {4096, 4112, 64}, {1 << 20, (1 << 20) + 16, 64},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(addresses_chunk(cases[i].size), cases[i].chunk);
		assert_int_equal(addresses_class(cases[i].size), cases[i].class);
	}
	assert_int_equal(ADDRESSES_CLASSES, 64);
}

static void test_blocks(void **state)
{
	(void)state;
	assert_int_equal(addresses_block_of(0x1234, 5), 0x123405);
	assert_int_equal(addresses_of_block(0x123405), 0x1234);
	assert_true(addresses_block_of(ADDRESSES_MAX - 1, 255) == UINT64_MAX);
	assert_true(addresses_block_of(ADDRESSES_MAX, 1) == 0);
}

/* The last so many freed blocks of each class, the last one on top. */
static void test_stack(void **state)
{
	static struct addresses_slot s;

	(void)state;
	addresses_push(&s, 0);
	addresses_push(&s, addresses_block_of(7, ADDRESSES_CLASSES));
	for (unsigned class = 0; class < ADDRESSES_CLASSES; class ++)
		assert_int_equal(*addresses_top(&s, class), 0);
	for (uint64_t i = 1; i <= ADDRESSES_DEPTH + 2; i++) {
		addresses_push(&s, addresses_block_of(100 + i, 63));
		assert_int_equal(*addresses_top(&s, 63), 100 + i);
		assert_int_equal(*addresses_top(&s, 62), 0);
	}
	for (uint64_t i = ADDRESSES_DEPTH + 2; i > 2; i--) {
		assert_int_equal(*addresses_top(&s, 63), 100 + i);
		addresses_pop(&s, 63);
	}
	assert_int_equal(*addresses_top(&s, 63), 0);
}

static void test_next(void **state)
{
	static struct addresses_slot s;

	(void)state;
	addresses_born(&s, 1000, 41, 4);
	assert_int_equal(s.birth, 1000);
	assert_int_equal(s.next, 1000 + 64 / 16);
	addresses_born(&s, 2000, 24, 3);
	assert_int_equal(s.birth, 2000);
	assert_int_equal(s.next, 2000 + 32 / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
