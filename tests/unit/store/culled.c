/* Sums of culled blocks: which rows become one, what a sum keeps of each, how many there may be,
 * and what is left of those that find no place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/recording/culled.h"
#include "collector/recording/definitions.h"
#include "proto/culled.h"

static struct culled sums;

static int begin(void **state)
{
	(void)state;
	culled_done(&sums);
	return 0;
}

static int end(void **state)
{
	(void)state;
	culled_done(&sums);
	return 0;
}

static struct culled_row row_of(uint32_t thread, uint32_t stack)
{
	return (struct culled_row){.thread = thread,
				   .stack = stack,
				   .lifetime = 4,
				   .blocks = 3,
				   .bytes = 300,
				   .reallocated = 1,
				   .size_least = 100,
				   .size_most = 100,
				   .first_ns = 5 * CULLED_TICK_NS,
				   .last_ns = 6 * CULLED_TICK_NS};
}

static void put(const struct culled_row *row)
{
	assert_int_equal(culled_add(&sums, row), 0);
}

static void test_merged(void **state)
{
	struct culled_row row = row_of(1, 2);

	(void)state;
	put(&row);
	row.blocks = 4;
	row.bytes = 400;
	row.reallocated = 2;
	row.size_least = 64; /* as many bits */
	row.size_most = 127;
	row.first_ns--;
	row.last_ns++;
	put(&row);
	assert_int_equal(sums.count, 1);
	row.size_least = row.size_most = 101;
	row.first_ns += 2;
	row.last_ns -= 2;
	put(&row);
	assert_int_equal(sums.count, 1);
	assert_true(sums.list[0].blocks == 11 && sums.list[0].bytes == 1100 &&
		    sums.list[0].reallocated == 5);
	assert_true(sums.list[0].size_least == 64 && sums.list[0].size_most == 127);
	assert_int_equal(sums.list[0].first_ns, 5 * CULLED_TICK_NS - 1);
	assert_int_equal(sums.list[0].last_ns, 6 * CULLED_TICK_NS + 1);
	row.bytes = UINT64_MAX; /* no sum goes round */
	put(&row);
	assert_true(sums.list[0].bytes == UINT64_MAX);
	row.bytes = 1;
	put(&row);
	assert_true(sums.list[0].bytes == UINT64_MAX);
	assert_true(sums.list[0].blocks == 19);
}

/* Each part of the key makes another row. Sampled ones are of one size each. */
static void test_apart(void **state)
{
	struct culled_row rows[12];
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		rows[i] = row_of(1, 2);
	rows[1].thread = 2;
	rows[2].stack = 1;
	rows[3].lifetime = 5;
	rows[4].size_least = 63;
	rows[5].size_least = 128;
	rows[6].size_least = 0;
	rows[7].size_least = 1;
	rows[8].weight = 1000;
	rows[9].weight = 1001;
	rows[10].weight = 1000;
	rows[10].size_least = 101;
	rows[11].thread = 2;
	rows[11].stack = 1;
	for (unsigned again = 0; again < 2; again++)
		for (unsigned i = 0; i < 12; i++) {
			put(&rows[i]);
			count += !again;
			assert_int_equal(sums.count, count);
		}
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(sums.list[i].blocks, 6);
	/* a list that is read back is as it was, even where rows could be one */
	begin(NULL);
	assert_int_equal(culled_restore(&sums, &rows[0]), 0);
	assert_int_equal(culled_restore(&sums, &rows[0]), 0);
	assert_int_equal(sums.count, 2);
	put(&rows[0]); /* to the last one */
	assert_int_equal(sums.list[0].blocks, 3);
	assert_int_equal(sums.list[1].blocks, 6);
}

static void test_many(void **state)
{
	(void)state;
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 20000; i++) {
			struct culled_row row = row_of(i % 7, i / 7);

			put(&row);
		}
	assert_int_equal(sums.count, 20000);
	for (uint32_t i = 0; i < 20000; i++)
		assert_true(sums.list[i].thread == i % 7 && sums.list[i].stack == i / 7 &&
			    sums.list[i].blocks == 6);
}

/* ---- messages ---- */

static uint8_t memory[16 * CULLED_ROW_MAX];
static struct definitions definitions;

static Heapcast__Culled message_of(const struct culled_row *rows, uint32_t count, uint64_t early)
{
	struct culled_encoder encoder;
	Heapcast__Culled message;

	culled_encoder_init(&encoder, memory, 16, 5 * CULLED_TICK_NS);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(culled_encoder_put(&encoder, &rows[i]), 0);
	culled_encoder_fill(&encoder, &message);
	message.early = early;
	return message;
}

static int take(const struct culled_row *rows, uint32_t count, uint64_t early)
{
	Heapcast__Culled message = message_of(rows, count, early);

	return culled_take(&sums, &message, &definitions);
}

static void test_checked(void **state)
{
	struct culled_row row = row_of(1, 0);
	Heapcast__Culled message = message_of(&row, 1, 0);

	(void)state;
	definitions_init(&definitions);
	assert_int_equal(culled_check(&message, NULL), 0);
	message.bytes++; /* is not what the rows say */
	assert_int_equal(culled_check(&message, NULL), -EBADMSG);
	assert_int_equal(culled_take(&sums, &message, &definitions), -EBADMSG);
	assert_int_equal(sums.totals.bytes, 0);
	definitions_done(&definitions);
}

/* Stacks are those of the recording, or none where they are not known. */
static void test_taken(void **state)
{
	struct culled_row rows[] = {row_of(1, 1), row_of(1, 3), row_of(2, 0)};

	(void)state;
	definitions_init(&definitions);
	assert_int_equal(nodes_define(&definitions.nodes, (struct stack_node){0, 1, 16}), 0);
	assert_int_equal(nodes_define(&definitions.nodes, (struct stack_node){0, 1, 16}), 0);
	assert_int_equal(nodes_define(&definitions.nodes, (struct stack_node){0, 1, 32}), 0);
	assert_int_equal(take(rows, 3, 2), 0);
	assert_int_equal(sums.count, 3);
	assert_int_equal(sums.list[0].stack, 1);
	assert_int_equal(sums.list[1].stack, 2);
	assert_int_equal(sums.list[2].stack, 0);
	assert_int_equal(sums.list[2].thread, 2);
	assert_true(sums.totals.blocks == 9 && sums.totals.bytes == 900 && sums.totals.early == 2 &&
		    sums.totals.frees == 6 && !sums.totals.left_out);
	rows[0].stack = 9;
	rows[0].thread = 2;
	assert_int_equal(take(rows, 1, 0), 0);
	assert_int_equal(sums.count, 3);
	assert_int_equal(sums.list[2].blocks, 6);
	assert_int_equal(sums.totals.blocks, 12);
	definitions_done(&definitions);
}

/* A row that finds no place goes without its thread and stack; if there is none either, its blocks
 * are counted. What is known already is added still. */
static void test_full(void **state)
{
	struct culled_row row = row_of(1, 0);

	(void)state;
	definitions_init(&definitions);
	put(&row);
	sums.count = CULLED_SUMS_MAX - 1; /* as if */
	sums.list = realloc(sums.list, (CULLED_SUMS_MAX + CULLED_REST_MAX) * sizeof(*sums.list));
	sums.next = realloc(sums.next, (CULLED_SUMS_MAX + CULLED_REST_MAX) * sizeof(*sums.next));
	assert_true(sums.list && sums.next);
	sums.capacity = sums.next_capacity = CULLED_SUMS_MAX + CULLED_REST_MAX;
	row.thread = 2;
	assert_int_equal(take(&row, 1, 0), 0);
	assert_int_equal(sums.count, CULLED_SUMS_MAX);
	assert_int_equal(sums.list[CULLED_SUMS_MAX - 1].thread, 2);
	row.thread = 3;
	assert_int_equal(culled_add(&sums, &row), -ENOSPC);
	assert_int_equal(take(&row, 1, 0), 0);
	assert_int_equal(sums.count, CULLED_SUMS_MAX + 1);
	assert_int_equal(sums.list[CULLED_SUMS_MAX].thread, 0);
	row.thread = 1;
	assert_int_equal(culled_add(&sums, &row), 0);
	assert_int_equal(sums.list[0].blocks, 6);
	sums.count = CULLED_SUMS_MAX + CULLED_REST_MAX - 1;
	row.thread = 4;
	row.lifetime++;
	assert_int_equal(take(&row, 1, 0), 0);
	assert_int_equal(sums.count, CULLED_SUMS_MAX + CULLED_REST_MAX);
	assert_int_equal(sums.totals.left_out, 0);
	row.lifetime++;
	assert_int_equal(take(&row, 1, 0), 0);
	assert_int_equal(sums.count, CULLED_SUMS_MAX + CULLED_REST_MAX);
	assert_int_equal(sums.totals.left_out, 3);
	assert_int_equal(sums.totals.blocks, 12);
	definitions_done(&definitions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_merged, begin),
		cmocka_unit_test_setup(test_apart, begin),
		cmocka_unit_test_setup(test_many, begin),
		cmocka_unit_test_setup(test_checked, begin),
		cmocka_unit_test_setup(test_taken, begin),
		cmocka_unit_test_setup(test_full, begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
