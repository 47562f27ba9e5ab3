/* Single rows in any order, of more blocks than stay unpacked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "tests/unit/query/recording.h"

#define BLOCKS (ROW_CACHE_BLOCKS + 2)
#define ROWS   ((BLOCKS - 1) * (uint64_t)ROWS_PER_BLOCK + 3)

static struct test_recording t;

static uint64_t size_of(uint64_t row)
{
	return row % 1000 + row / ROWS_PER_BLOCK;
}

static int open_recording(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	for (uint64_t i = 0; i < ROWS; i++)
		builder_malloc(&b, i + 1, 1, 0x10000 + 16 * i, size_of(i));
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	assert_int_equal(recording_rows(t.recording), ROWS);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	test_close(&t);
	return 0;
}

static const struct row_block *get(struct row_cache *cache, uint64_t row)
{
	struct err_text err = {0};
	uint32_t index = UINT32_MAX;
	const struct row_block *block = row_cache_get(cache, row, &index, &err);

	assert_non_null(block);
	assert_int_equal(index, row % ROWS_PER_BLOCK);
	assert_int_equal(block->first_row, row - row % ROWS_PER_BLOCK);
	assert_int_equal(block->size[index], size_of(row));
	return block;
}

static void each_row(void **state)
{
	struct row_cache *cache;

	(void)state;
	assert_int_equal(row_cache_new(t.recording, ROWS_SIZE, &cache), 0);
	for (uint64_t i = 0; i < 2000; i++)
		get(cache, i * 7919 * ROWS_PER_BLOCK / 16 % ROWS);
	get(cache, 0);
	get(cache, ROWS_PER_BLOCK - 1);
	get(cache, ROWS_PER_BLOCK);
	get(cache, ROWS - 1);
	row_cache_free(cache);
	row_cache_free(NULL);
}

/* A block is valid until so many others were asked for; whoever was asked for longest ago goes. */
static void stays_valid(void **state)
{
	const struct row_block *block[BLOCKS];
	struct row_cache *cache;

	(void)state;
	assert_int_equal(row_cache_new(t.recording, ROWS_SIZE, &cache), 0);
	for (uint64_t i = 0; i < ROW_CACHE_BLOCKS; i++)
		block[i] = get(cache, i * ROWS_PER_BLOCK + 5);
	for (uint64_t i = 0; i < ROW_CACHE_BLOCKS; i++) {
		assert_int_equal(block[i]->first_row, i * ROWS_PER_BLOCK);
		assert_int_equal(block[i]->size[5], size_of(i * ROWS_PER_BLOCK + 5));
	}
	/* Asked for again: only then the first is the latest. */
	assert_ptr_equal(get(cache, 7), block[0]);
	get(cache, ROW_CACHE_BLOCKS * (uint64_t)ROWS_PER_BLOCK);
	assert_ptr_equal(get(cache, 8), block[0]);
	for (uint64_t i = 2; i < ROW_CACHE_BLOCKS; i++)
		assert_ptr_equal(get(cache, i * ROWS_PER_BLOCK), block[i]);
	row_cache_free(cache);
}

static void there_is_no_such_row(void **state)
{
	struct row_cache *cache;
	struct err_text err = {0};
	uint32_t index = 7;

	(void)state;
	assert_int_equal(row_cache_new(t.recording, ROWS_SIZE, &cache), 0);
	assert_null(row_cache_get(cache, ROWS, &index, &err));
	assert_non_null(strstr(err.text, "there is no allocation"));
	assert_null(row_cache_get(cache, UINT64_MAX, &index, &err));
	assert_int_equal(index, 7);
	get(cache, ROWS - 1);
	row_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(stays_valid),
		cmocka_unit_test(there_is_no_such_row),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
