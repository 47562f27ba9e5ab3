/* Late news of rows: in which order they are applied, to which rows and columns, and what of a
 * damaged page is refused. */
#include "collector/columns/late_updates.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/columns/row_block.h"

#define FIRST 65536 /* the block's rows */
#define COUNT 8

static const struct block_limits limits = {.nodes = 50, .threads = 4, .rows = FIRST + 100};

struct bench {
	struct late_updates late;
	struct rows_block *block;
	struct buf spare;
	FILE *file;
	int fd[2];
};

static void bench_open(struct bench *b)
{
	*b = (struct bench){.block = block_new(FIRST), .file = tmpfile()};
	assert_non_null(b->block);
	assert_non_null(b->file);
	b->fd[0] = b->fd[1] = fileno(b->file);
	b->block->view.count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++) {
		b->block->birth_ns[i] = 100 + i;
		b->block->death_ns[i] = NO_TIME;
		b->block->end[i] = BLOCK_IN_USE;
		b->block->death_stack[i] = b->block->death_thread[i] = 0;
		b->block->death_kind[i] = 0;
		b->block->chain_next[i] = NO_BLOCK;
	}
}

static void bench_close(struct bench *b)
{
	late_updates_done(&b->late);
	block_free(b->block);
	buf_done(&b->spare);
	fclose(b->file);
}

static int append(void *context, const void *data, size_t length, uint64_t *ret_offset)
{
	struct bench *b = context;

	*ret_offset = (uint64_t)lseek(b->fd[0], 0, SEEK_END);
	return write(b->fd[0], data, length) == (ssize_t)length ? 0 : -EIO;
}

static int full(void *context, const void *data, size_t length, uint64_t *ret_offset)
{
	(void)context, (void)data, (void)length, (void)ret_offset;
	return -ENOSPC;
}

static struct late_update_record ended(uint32_t row, uint64_t time_ns)
{
	return (struct late_update_record){.row = row,
					   .time_ns = time_ns,
					   .stack = 50,
					   .thread = 4,
					   .kind = 3,
					   .end = BLOCK_FREED,
					   .what = LATE_UPDATE_END};
}

static void add(struct bench *b, struct late_update_record record)
{
	assert_int_equal(late_updates_add(&b->late, &record), 0);
}

static int apply(struct bench *b)
{
	return late_updates_apply(&b->late, b->block, b->fd, &limits, &b->spare);
}

static void settle(struct bench *b, bool written)
{
	if (written)
		assert_int_equal(late_updates_write(&b->late, false, append, b), 0);
	else
		late_updates_sort(&b->late);
}

/* The rows beside the block's, and the last news of each row, in memory and from a file. */
static void test_rows(void **state)
{
	(void)state;
	for (int written = 0; written < 2; written++) {
		struct bench b;

		bench_open(&b);
		add(&b, ended(FIRST + COUNT, 1000)); /* behind it */
		add(&b, ended(FIRST + COUNT - 1, 1007));
		add(&b, ended(FIRST, 1000));
		add(&b, ended(FIRST - 1, 999));
		add(&b, ended(FIRST + 3, 2000));
		add(&b, ended(FIRST + 3, 1003));
		settle(&b, written);
		assert_int_equal(b.late.fresh_count, written ? 0 : 6);
		assert_int_equal(apply(&b), 0);
		for (uint32_t i = 0; i < COUNT; i++) {
			bool is_ended = i == 0 || i == 3 || i == COUNT - 1;

			assert_true(b.block->death_ns[i] == (is_ended ? 1000 + i : NO_TIME));
			assert_int_equal(b.block->end[i], is_ended ? BLOCK_FREED : BLOCK_IN_USE);
			assert_int_equal(b.block->death_stack[i], is_ended ? 50 : 0);
			assert_int_equal(b.block->death_thread[i], is_ended ? 4 : 0);
			assert_int_equal(b.block->death_kind[i], is_ended ? 3 : 0);
			assert_int_equal(b.block->chain_next[i], NO_BLOCK);
		}
		bench_close(&b);
	}
}

/* Later pages win, and what is in memory wins of all. */
static void test_order(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	add(&b, ended(FIRST + 1, 3000));
	add(&b, ended(FIRST + 2, 3000));
	settle(&b, true);
	add(&b, ended(FIRST + 1, 2000));
	settle(&b, true);
	assert_int_equal(b.late.page_count, 2);
	assert_int_equal(apply(&b), 0);
	assert_int_equal(b.block->death_ns[1], 2000);
	assert_int_equal(b.block->death_ns[2], 3000);
	add(&b, ended(FIRST + 1, 1000));
	settle(&b, false);
	assert_int_equal(apply(&b), 0);
	assert_int_equal(b.block->death_ns[1], 1000);
	bench_close(&b);
}

/* Sorted now and then, as when rows are read while more updates come: the last of each row wins. */
static void test_sorted_in_parts(void **state)
{
	uint64_t last[COUNT] = {0}, number = 1;
	struct bench b;

	(void)state;
	bench_open(&b);
	for (uint64_t time_ns = 2000; time_ns < 2000 + 40 * COUNT; time_ns++) {
		uint32_t row = (uint32_t)((number = number * 6364136223846793005u + 1) >> 33);

		row %= COUNT;
		last[row] = time_ns;
		add(&b, ended(FIRST + row, time_ns));
		if (row % 8 == 0)
			late_updates_sort(&b.late);
		if (row % 64 == 0) {
			assert_int_equal(apply(&b), 0);
			assert_true(b.block->death_ns[row] == time_ns);
		}
	}
	settle(&b, false);
	assert_int_equal(apply(&b), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(b.block->death_ns[i] == (last[i] ? last[i] : NO_TIME));
	bench_close(&b);
}

/* Only columns that the view shows; and no block ends before it began. */
static void test_columns(void **state)
{
	struct bench b;
	struct row_block *v;

	(void)state;
	bench_open(&b);
	v = &b.block->view;
	add(&b, ended(FIRST, 99));
	add(&b, ended(FIRST + 1, 101));
	add(&b,
	    (struct late_update_record){.row = FIRST, .next = FIRST + 9, .what = LATE_UPDATE_NEXT});
	settle(&b, false);
	v->death_thread = NULL;
	v->chain_next = NULL;
	assert_int_equal(apply(&b), 0);
	assert_int_equal(b.block->death_ns[0], 100);
	assert_int_equal(b.block->death_ns[1], 101);
	assert_int_equal(b.block->death_thread[0], 0);
	assert_int_equal(b.block->death_stack[0], 50);
	assert_int_equal(b.block->chain_next[0], NO_BLOCK);
	v->birth_ns = NULL; /* not read: nothing to compare with */
	v->chain_next = b.block->chain_next;
	assert_int_equal(apply(&b), 0);
	assert_int_equal(b.block->death_ns[0], 99);
	assert_int_equal(b.block->chain_next[0], FIRST + 9);
	v->death_ns = NULL;
	v->end = NULL;
	v->death_kind = NULL;
	v->death_stack = NULL;
	b.block->death_ns[0] = b.block->death_stack[0] = b.block->end[0] = 0;
	b.block->death_kind[0] = 0;
	assert_int_equal(apply(&b), 0);
	assert_int_equal(b.block->death_ns[0], 0);
	assert_int_equal(b.block->death_stack[0], 0);
	assert_int_equal(b.block->end[0], 0);
	assert_int_equal(b.block->death_kind[0], 0);
	bench_close(&b);
}

static void test_any(void **state)
{
	(void)state;
	for (int written = 0; written < 2; written++) {
		struct bench b;

		bench_open(&b);
		assert_false(late_updates_any(&b.late, 0, UINT32_MAX));
		add(&b, ended(20, 1));
		add(&b, ended(10, 1));
		settle(&b, written);
		assert_false(late_updates_any(&b.late, 0, 9));
		assert_true(late_updates_any(&b.late, 0, 10));
		assert_true(late_updates_any(&b.late, 10, 10));
		assert_int_equal(late_updates_any(&b.late, 11, 19),
				 written); /* a page may have some */
		assert_true(late_updates_any(&b.late, 20, 30));
		assert_false(late_updates_any(&b.late, 21, 30));
		bench_close(&b);
	}
}

/* Pages of LATE_UPDATE_PAGE records; each knows its rows. */
static void test_pages(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	for (uint32_t i = 0; i <= LATE_UPDATE_PAGE; i++)
		add(&b, ended(LATE_UPDATE_PAGE - i, 1));
	assert_int_equal(late_updates_write(&b.late, false, full, NULL), -ENOSPC);
	assert_int_equal(b.late.page_count, 0);
	assert_int_equal(b.late.fresh_count, LATE_UPDATE_PAGE + 1);
	assert_int_equal(late_updates_write(&b.late, true, append, &b), 0);
	assert_int_equal(b.late.page_count, 2);
	assert_int_equal(b.late.pages[0].count, LATE_UPDATE_PAGE);
	assert_int_equal(b.late.pages[0].first_row, 0);
	assert_int_equal(b.late.pages[0].last_row, LATE_UPDATE_PAGE - 1);
	assert_int_equal(b.late.pages[0].offset, 0);
	assert_true(b.late.pages[0].base);
	assert_int_equal(b.late.pages[1].count, 1);
	assert_int_equal(b.late.pages[1].first_row, LATE_UPDATE_PAGE);
	assert_int_equal(b.late.pages[1].last_row, LATE_UPDATE_PAGE);
	assert_int_equal(b.late.pages[1].offset, LATE_UPDATE_PAGE * LATE_UPDATE_RECORD);
	assert_int_equal(late_updates_write(&b.late, true, append, &b), 0);
	assert_int_equal(b.late.page_count, 2); /* nothing was left */
	bench_close(&b);
}

/* A record's bytes, as late_updates.h draws them. */
static void test_bytes(void **state)
{
	static const uint8_t expected[LATE_UPDATE_RECORD] = {
		4,    3,    2,	  1,	8,    7,    6,	  5,	0x18, 0x17, 0x16, 0x15, 0x14, 0x13,
		0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x28, 0x27, 0x26, 0x25, 9,	  3,	1,    0};
	uint8_t bytes[LATE_UPDATE_RECORD];
	struct bench b;

	(void)state;
	bench_open(&b);
	add(&b, (struct late_update_record){.row = 0x01020304,
					    .next = 0x05060708,
					    .time_ns = 0x1112131415161718,
					    .stack = 0x21222324,
					    .thread = 0x25262728,
					    .kind = 9,
					    .end = 3,
					    .what = LATE_UPDATE_END});
	settle(&b, true);
	assert_int_equal(pread(b.fd[0], bytes, sizeof(bytes), 0), LATE_UPDATE_RECORD);
	assert_memory_equal(bytes, expected, LATE_UPDATE_RECORD);
	bench_close(&b);
}

static void assert_sane(struct late_update_record record, bool sane)
{
	struct bench b;

	bench_open(&b);
	add(&b, record);
	settle(&b, true);
	assert_int_equal(apply(&b), sane ? 0 : -EBADMSG);
	bench_close(&b);
}

/* What names rows, nodes or threads that are not there, or an end that is none. */
static void test_sane(void **state)
{
	struct late_update_record record = ended(FIRST + 1, ROWS_TIME_MAX),
				  next = {.row = FIRST + 1,
					  .next = FIRST + 2,
					  .what = LATE_UPDATE_NEXT};

	(void)state;
	assert_sane(record, true);
	record.time_ns++;
	assert_sane(record, false);
	record = ended(FIRST + 1, 500);
	record.stack++;
	assert_sane(record, false);
	record = ended(FIRST + 1, 500);
	record.thread++;
	assert_sane(record, false);
	record = ended(FIRST + 1, 500);
	record.end = BLOCK_EXEC;
	assert_sane(record, true);
	record.end = BLOCK_EXEC + 1;
	assert_sane(record, false);
	record.end = BLOCK_IN_USE;
	assert_sane(record, false);
	record.what = 0; /* nothing of it is looked at */
	assert_sane(record, true);
	assert_sane(next, true);
	next.next = FIRST + 1;
	assert_sane(next, false);
	next.next = FIRST + 99;
	assert_sane(next, true);
	next.next = FIRST + 100;
	assert_sane(next, false);
}

static void test_damaged(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	add(&b, ended(FIRST + 1, 500));
	add(&b, ended(FIRST + 5, 500));
	settle(&b, true);
	assert_int_equal(apply(&b), 0);
	b.late.pages[0].check ^= 1;
	assert_int_equal(apply(&b), -EBADMSG);
	b.late.pages[0].last_row = FIRST - 1; /* then it is not looked at */
	b.late.pages[0].first_row = FIRST - 2;
	assert_int_equal(apply(&b), 0);
	b.late.pages[0].last_row = FIRST + 5;
	b.late.pages[0].check ^= 1;
	b.late.pages[0].count = 3; /* more than the file has */
	assert_int_equal(apply(&b), -EBADMSG);
	b.late.pages[0].count = LATE_UPDATE_PAGE + 1;
	assert_int_equal(apply(&b), -EBADMSG);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_sorted_in_parts),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_sane),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
