/*
 * Places in chains of reallocs, found by following links: of a chain that is longer than what is
 * remembered, of short ones, and of blocks that are none; and that a walk in order remembers its
 * neighbours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/chain_walk.h"
#include "tests/unit/query/recording.h"

#define LENGTH 3000 /* of the long chain: rows 0, 2, 4... */
#define PAIR   (2 * LENGTH)
#define ROWS   (PAIR + 2)

static struct test_recording t;
static struct row_cache *rows;
static struct chain_walk walk;
static unsigned asked;
static bool end;

static bool ended(void *context)
{
	assert_ptr_equal(context, &asked);
	asked++;
	return end;
}

/* Between two links of the long chain there is a block by itself each time. At the end there is a
 * chain of two. */
static int open_recording(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	for (uint64_t i = 0; i < LENGTH; i++) {
		if (i)
			builder_realloc(&b, 20 * i, 20 * i, 1, 0x10000 + 64 * (i - 1),
					0x10000 + 64 * i, 8);
		else
			builder_malloc(&b, 1, 1, 0x10000, 8);
		builder_malloc(&b, 20 * i + 10, 1, 0x1000000 + 64 * i, 8);
	}
	builder_malloc(&b, 20 * LENGTH, 1, 0x100, 8);
	builder_realloc(&b, 20 * LENGTH + 1, 20 * LENGTH + 1, 1, 0x100, 0x200, 8);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	assert_int_equal(recording_rows(t.recording), ROWS);
	return row_cache_new(t.recording, ROWS_CHAIN, &rows);
}

static int close_recording(void **state)
{
	(void)state;
	row_cache_free(rows);
	test_close(&t);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	asked = 0;
	end = false;
	chain_walk_init(&walk, t.recording, ended, &asked);
	return 0;
}

static void check(uint64_t row, uint64_t first, uint64_t last, uint64_t position, uint64_t length)
{
	struct chain_place place;

	assert_int_equal(chain_walk_find(&walk, rows, row, &place, NULL), 0);
	assert_int_equal(place.row, row);
	assert_int_equal(place.first, first);
	assert_int_equal(place.last, last);
	assert_int_equal(place.position, position);
	assert_int_equal(place.length, length);
}

static void check_row(uint64_t row)
{
	if (row >= PAIR)
		check(row, PAIR, PAIR + 1, row - PAIR, 2);
	else if (row % 2)
		check(row, row, row, 0, 1);
	else
		check(row, 0, PAIR - 2, row / 2, LENGTH);
}

static void in_order(void **state)
{
	(void)state;
	for (uint64_t row = 0; row < ROWS; row++)
		check_row(row);
	/* Only the first of the long chain was walked along. */
	assert_in_range(asked, 1, LENGTH / 1024 + 1);
}

static void backwards(void **state)
{
	(void)state;
	for (uint64_t row = ROWS; row-- > 0;)
		check_row(row);
	assert_in_range(asked, 1, LENGTH / 1024 + 1);
}

/* Rows that share a place of what is remembered. */
static void far_apart(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t row = 7; row < ROWS; row += CHAIN_WALK_KEPT)
			check_row(row);
		for (uint64_t row = 4; row < ROWS; row += CHAIN_WALK_KEPT)
			check_row(row);
	}
	check_row(ROWS - 1);
	check_row(ROWS - 2);
}

static void remembered(uint64_t row, uint64_t position)
{
	const struct chain_place *kept = &walk.kept[row % CHAIN_WALK_KEPT];

	assert_int_equal(kept->row, row);
	assert_int_equal(kept->position, position);
	assert_int_equal(kept->length, LENGTH);
	assert_int_equal(kept->first, 0);
	assert_int_equal(kept->last, PAIR - 2);
}

static void remembers_neighbours(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CHAIN_WALK_KEPT; i++)
		assert_true(walk.kept[i].row == NO_TIME);
	check_row(1000);
	remembered(998, 499);
	remembered(1000, 500);
	remembered(1002, 501);
	assert_true(walk.kept[996].row == NO_TIME);
	assert_true(walk.kept[999].row == NO_TIME);
	check_row(0);
	remembered(2, 1);
	check_row(PAIR - 2);
	remembered(PAIR - 4, LENGTH - 2);
}

/* It is asked after every 1,024 steps whether it is to go on. */
static void ends_when_told(void **state)
{
	struct chain_place place;

	(void)state;
	end = true;
	assert_int_equal(chain_walk_find(&walk, rows, 0, &place, NULL), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(place.first, 0);
	assert_int_equal(place.last, 2 * 1023);
}

static void there_is_no_such_row(void **state)
{
	struct chain_place place = {.row = 7};
	struct err_text err = {0};

	(void)state;
	assert_int_equal(chain_walk_find(&walk, rows, ROWS, &place, &err), -EIO);
	assert_non_null(strstr(err.text, "6002"));
	assert_int_equal(place.row, 7);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_order),	      TEST(backwards),
		TEST(far_apart),      TEST(remembers_neighbours),
		TEST(ends_when_told), TEST(there_is_no_such_row),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
