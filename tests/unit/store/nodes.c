/* The stack tree: nodes that are defined again are the ones that are there; held against a naive
 * list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/recording/nodes.h"
#include "proto/stack_columns.h"

static void test_again(void **state)
{
	struct nodes n = {0};

	(void)state;
	assert_int_equal(nodes_define(&n, (struct stack_node){0, 1, 0x10}), 0);
	assert_int_equal(nodes_define(&n, (struct stack_node){1, 1, 0x20}), 0);
	/* Another generation: the same stack under new numbers, and one more frame. */
	assert_int_equal(nodes_define(&n, (struct stack_node){0, 1, 0x10}), 0);
	assert_int_equal(nodes_define(&n, (struct stack_node){3, 1, 0x20}), 0);
	assert_int_equal(nodes_define(&n, (struct stack_node){4, 2, 0x20}), 0);
	assert_int_equal(n.count, 3);
	assert_int_equal(nodes_of_wire(&n, 3), 1);
	assert_int_equal(nodes_of_wire(&n, 4), 2);
	assert_int_equal(nodes_of_wire(&n, 5), 3);
	assert_int_equal(n.list[2].parent, 2);
	assert_int_equal(nodes_of_wire(&n, 0), 0);
	assert_int_equal(nodes_of_wire(&n, 6), 0);
	assert_int_equal(nodes_of_wire(&n, UINT64_MAX), 0);
	assert_int_equal(nodes_define(&n, (struct stack_node){6, 1, 0x30}), -EBADMSG);
	assert_int_equal(n.wire_count, 5);
	nodes_done(&n);
}

#define DEFINED 3000

static void test_naive(void **state)
{
	static struct stack_node list[DEFINED];
	struct nodes n = {0};
	uint32_t count = 0;

	(void)state;
	srandom(5);
	for (uint32_t wire = 1; wire <= DEFINED; wire++) {
		struct stack_node node = {.parent = (uint32_t)random() % wire % 40,
					  .module = (uint32_t)random() % 3,
					  .offset = (uint64_t)random() % 5};
		struct stack_node here = node;
		uint32_t found = 0;

		here.parent = nodes_of_wire(&n, node.parent);
		while (found < count &&
		       (list[found].parent != here.parent || list[found].module != here.module ||
			list[found].offset != here.offset))
			found++;
		if (found == count)
			list[count++] = here;
		assert_int_equal(nodes_define(&n, node), 0);
		assert_int_equal(nodes_of_wire(&n, wire), found + 1);
		assert_int_equal(n.count, count);
		assert_true(n.list[found].parent < found + 1);
	}
	assert_true(count < DEFINED);
	nodes_done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_naive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
