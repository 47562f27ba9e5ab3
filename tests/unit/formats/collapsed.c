/* Collapsed stacks: the text, its order, and names that could break the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "tests/unit/answers/trees.h"

static void writes_stacks(void **state)
{
	struct tree tree = {0};
	struct buf out = {0};

	(void)state;
	tree_add(&tree, "main;read;malloc", 100, 2);
	tree_add(&tree, "main;parse", 300, 1);
	tree_add(&tree, "main;parse;grow", 50, 5);
	tree_add(&tree, "init", 7, 7);
	assert_int_equal(export_collapsed(&tree, EXPORT_BYTES, &out, NULL), 0);
	assert_string_equal(buf_text(&out),
			    "init 7\nmain;parse 300\nmain;parse;grow 50\nmain;read;malloc 100\n");
	buf_clear(&out);
	assert_int_equal(export_collapsed(&tree, EXPORT_BLOCKS, &out, NULL), 0);
	assert_string_equal(buf_text(&out),
			    "init 7\nmain;parse 1\nmain;parse;grow 5\nmain;read;malloc 2\n");
	tree_release(&tree);
	buf_done(&out);
}

static void adds_up_what_reads_the_same(void **state)
{
	/* Two lines of one function are two nodes with one name. */
	struct tree_node nodes[] = {
		{.bytes = 30, .blocks = 3, .first_child = 1},
		{.function = "f", .line = 1, .bytes = 10, .self_bytes = 10, .next_sibling = 2},
		{.function = "f", .line = 2, .bytes = 20, .self_bytes = 20},
	};
	struct tree tree = {.nodes = nodes, .count = 3};
	struct buf out = {0};

	(void)state;
	assert_int_equal(export_collapsed(&tree, EXPORT_BYTES, &out, NULL), 0);
	assert_string_equal(buf_text(&out), "f 30\n");
	buf_done(&out);
}

static void replaces_separators(void **state)
{
	struct tree_node nodes[] = {
		{.bytes = 1, .first_child = 1},
		{.function = "a;b\nc\rd\te f", .bytes = 1, .self_bytes = 1},
	};
	struct tree tree = {.nodes = nodes, .count = 2};
	struct buf out = {0};

	(void)state;
	assert_int_equal(export_collapsed(&tree, EXPORT_BYTES, &out, NULL), 0);
	assert_string_equal(buf_text(&out), "a:b c d e f 1\n");
	buf_done(&out);
}

static void an_empty_tree_is_empty(void **state)
{
	struct tree_node root = {0};
	struct tree none = {0}, only_root = {.nodes = &root, .count = 1};
	struct buf out = {0};

	(void)state;
	assert_int_equal(export_collapsed(&none, EXPORT_BYTES, &out, NULL), 0);
	assert_int_equal(export_collapsed(&only_root, EXPORT_BYTES, &out, NULL), 0);
	assert_int_equal(out.length, 0);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_stacks),
		cmocka_unit_test(adds_up_what_reads_the_same),
		cmocka_unit_test(replaces_separators),
		cmocka_unit_test(an_empty_tree_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
