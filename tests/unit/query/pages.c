/* Rows by pages, where there are more of them than are looked for at a time: each once, in the one
 * order there is, whatever the pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sweep/rank.h"
#include "tests/unit/query/naive.h"

#define AT_A_TIME 1024 /* rows that are looked for at first, if there is an order to look for */
#define ROWS	  (5 * AT_A_TIME) /* more than are counted one by one, if all have one key */

static struct test_recording t;
static struct naive_rows rows;
static uint64_t *in_order; /* rows that are wanted */
static size_t count;

/* Sizes are few, or all the same: most rows have the key of those beside them. `far`: every other
 * address is at the end of all. */
static void open_rows(unsigned sizes, bool far)
{
	uint64_t random = 11;
	struct builder b;

	builder_init(&b, 1);
	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t address = 0x100000 + 64 * (uint64_t)(i * 7919 % ROWS);

		builder_malloc(&b, 100 + i / 2, 1, far && i % 2 ? -address : address,
			       100 + test_random(&random) % sizes);
	}
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	naive_rows_init(&rows, t.recording);
	assert_int_equal(rows.count, ROWS);
	in_order = calloc(ROWS, sizeof(*in_order));
	assert_non_null(in_order);
}

static void close_rows(void)
{
	free(in_order);
	free(rows.list);
	test_close(&t);
}

static enum page_order order;
static bool descending;

static uint64_t key_of(uint64_t row)
{
	return order == PAGE_BY_SIZE	  ? rows.list[row].size
	       : order == PAGE_BY_ADDRESS ? rows.list[row].address
					  : row;
}

/* Equal keys stay in the order of birth, or its reverse. */
static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	int ascending = key_of(x) != key_of(y) ? (key_of(x) < key_of(y) ? -1 : 1)
			: x < y		       ? -1
					       : x > y;

	return descending ? -ascending : ascending;
}

static void list_rows(const struct filter *f)
{
	count = 0;
	for (size_t i = 0; i < rows.count; i++)
		if (rows.list[i].size >= f->size_min)
			in_order[count++] = i;
	qsort(in_order, count, sizeof(*in_order), by_key);
}

/* All that is left from `skip` on, so many rows at a time. */
static void check_pages(const struct filter *f, size_t skip, size_t page)
{
	uint64_t got[ROWS], total;
	struct query_page *scan;
	size_t at = skip;
	long n;

	assert_int_equal(query_page_new(t.view, f, order, descending, &scan, NULL), 0);
	assert_int_equal(query_page_total(scan, &total, NULL), 0);
	assert_int_equal(total, count);
	if (skip)
		assert_int_equal(query_page_skip(scan, skip, NULL), 0);
	while ((n = query_page_next(scan, got, page, NULL)) > 0) {
		assert_true((size_t)n == page || at + (size_t)n == count);
		assert_in_range(at + (size_t)n, 1, count);
		assert_memory_equal(got, in_order + at, (size_t)n * sizeof(*got));
		at += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(at, count);
	query_page_free(scan);
}

static bool comes_after(uint64_t row, const struct rank_entry *last)
{
	uint64_t key = key_of(row);
	bool above = key != last->key ? key > last->key : row > last->row;

	return descending ? !above && (key != last->key || row != last->row) : above;
}

/* By counting: the rest begins just where it says, and few rows of it are to be left out yet. */
static void check_rank(const struct filter *f, size_t skip, uint64_t few)
{
	struct rank_entry last = {0};
	uint64_t left, gone = 0;
	struct matcher m;
	bool any;

	assert_int_equal(matcher_init(&m, t.view, f, NULL), 0);
	assert_int_equal(rank_skip(&m, order, descending, skip, few, &last, &any, &left, NULL), 0);
	assert_in_range(left, 0, few);
	while (any && gone < count && !comes_after(in_order[gone], &last))
		gone++;
	assert_int_equal(gone + left, skip);
	matcher_done(&m);
}

static void check_ranks(const struct filter *f)
{
	const size_t skips[] = {1, 2, count / 2, count - 2, count - 1};

	for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++)
		for (uint64_t few = 1; few < 4; few++)
			check_rank(f, skips[i], few);
}

static void check_order(const struct filter *f)
{
	static const size_t pages[] = {100, AT_A_TIME - 1, AT_A_TIME, AT_A_TIME + 1, ROWS};

	list_rows(f);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		check_pages(f, 0, pages[i]);
	for (size_t skip = AT_A_TIME - 1; skip <= AT_A_TIME + 1; skip++)
		check_pages(f, skip, AT_A_TIME);
	for (size_t skip = 2 * AT_A_TIME - 1; skip <= 2 * AT_A_TIME + 1 && skip < count; skip++)
		check_pages(f, skip, 1);
	check_pages(f, 1, AT_A_TIME);
	check_pages(f, count - 1, AT_A_TIME);
	if (order != PAGE_BY_TIME)
		check_ranks(f);
}

static void check_orders(unsigned sizes, bool far)
{
	struct filter f;

	open_rows(sizes, far);
	for (order = PAGE_BY_TIME; order <= PAGE_BY_SIZE; order++)
		for (unsigned d = 0; d < 2; d++) {
			descending = d;
			filter_init(&f);
			check_order(&f);
			f.size_min = 100 + sizes / 4; /* and with some left out */
			check_order(&f);
		}
	close_rows();
}

static void test_some_sizes(void **state)
{
	(void)state;
	check_orders(8, false);
}

static void test_one_size(void **state)
{
	(void)state;
	check_orders(1, false);
}

static void test_many_sizes(void **state)
{
	(void)state;
	check_orders(10 * ROWS, false);
}

static void test_far_addresses(void **state)
{
	(void)state;
	check_orders(8, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some_sizes),
		cmocka_unit_test(test_one_size),
		cmocka_unit_test(test_many_sizes),
		cmocka_unit_test(test_far_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
