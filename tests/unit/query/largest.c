/* Amounts that do not fit 64 bits: of all that was allocated there are at least so many, and no
 * question begins again at 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/query/recording.h"

#define LARGE  (1ull << 62)
#define BLOCKS 5

static struct test_recording recorded(uint8_t name, uint64_t size)
{
	struct test_recording t;
	struct builder b;

	builder_init(&b, name);
	for (unsigned i = 0; i < BLOCKS; i++) {
		builder_malloc(&b, 100 + 10 * i, 1, 0x1000, size);
		if (i + 1 < BLOCKS)
			builder_free(&b, 105 + 10 * i, 1, 0x1000);
	}
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	return t;
}

static void totals(void **state)
{
	struct test_recording t = recorded(1, LARGE);
	struct filter all;
	struct report report;
	struct groups groups;
	struct tree tree;

	(void)state;
	filter_init(&all);
	assert_int_equal(query_report(t.view, &all, &report, NULL), 0);
	assert_int_equal(report.allocated.blocks, BLOCKS);
	assert_true(report.allocated.bytes == UINT64_MAX);
	assert_true(report.leaked.bytes == LARGE && report.peak.bytes == LARGE);
	for (enum grouping by = GROUP_BY_BACKTRACE; by <= GROUP_BY_MODULE; by++) {
		assert_int_equal(query_groups(t.view, &all, by, VALUE_ALLOCATED, 0, &groups, NULL),
				 0);
		assert_int_equal(groups.count, 1);
		assert_true(groups.total.bytes == UINT64_MAX &&
			    groups.list[0].value.bytes == UINT64_MAX);
		groups_done(&groups);
	}
	assert_int_equal(query_tree(t.view, &all, VALUE_ALLOCATED, 0, &tree, NULL), 0);
	assert_true(tree.nodes[0].bytes == UINT64_MAX);
	tree_done(&tree);
	test_close(&t);
}

static void differences(void **state)
{
	struct test_recording small = recorded(2, 100), large = recorded(3, LARGE);
	struct filter all;
	struct diff diff;

	(void)state;
	filter_init(&all);
	for (unsigned grown = 0; grown < 2; grown++) {
		const struct diff_side from = {.view = grown ? small.view : large.view,
					       .filter = &all,
					       .value = VALUE_ALLOCATED};
		const struct diff_side to = {.view = grown ? large.view : small.view,
					     .filter = &all,
					     .value = VALUE_ALLOCATED};

		assert_int_equal(query_diff(&from, &to, GROUP_BY_SITE, &diff, NULL), 0);
		assert_int_equal(diff.count, 1);
		assert_true(diff.list[0].bytes == (grown ? INT64_MAX : -INT64_MAX));
		assert_true((grown ? diff.grown_bytes : diff.shrunk_bytes) == INT64_MAX);
		diff_done(&diff);
	}
	test_close(&small);
	test_close(&large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals),
		cmocka_unit_test(differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
