/*
 * Who calls a call site. Stacks, outermost first; unknown code is named by its place:
 *
 *	main > loop > wrapper > site   40 and 30 bytes by two ways through `loop`
 *	main > other > wrapper > site  20 bytes
 *	main > site                    10 bytes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/query/recording.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"

enum { MAIN = 1, LOOP, LOOP_WRAPPER, LOOP_SITE, OTHER, OTHER_WRAPPER, OTHER_SITE, MAIN_SITE };

static const struct stack_node nodes[] = {
	{.module = 2, .offset = 0x100},
	{.parent = MAIN, .module = 2, .offset = 0x200},
	{.parent = LOOP, .module = 2, .offset = 0x300},
	{.parent = LOOP_WRAPPER, .module = 2, .offset = 0x400},
	{.parent = MAIN, .module = 2, .offset = 0x500},
	{.parent = OTHER, .module = 2, .offset = 0x300},
	{.parent = OTHER_WRAPPER, .module = 2, .offset = 0x400},
	{.parent = MAIN, .module = 2, .offset = 0x400},
};

static struct test_recording t;
static struct groups sites, backtraces;

static int open_recording(void **state)
{
	static const struct {
		uint32_t stack;
		uint64_t size;
	} blocks[] = {{LOOP_SITE, 40}, {LOOP_SITE, 30}, {OTHER_SITE, 20}, {MAIN_SITE, 10}};
	struct filter filter;
	struct builder b;

	(void)state;
	builder_init(&b, 9);
	test_first_batch(&b, nodes, sizeof(nodes) / sizeof(nodes[0]), "/nowhere/libexample.so", 0,
			 false);
	for (uint32_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1,
				  .time_ns = 10 + i,
				  .address = 0x1000 * (i + 1),
				  .size = blocks[i].size,
				  .weight = blocks[i].size,
				  .stack = blocks[i].stack};

		builder_event(&b, &e);
	}
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	filter_init(&filter);
	assert_int_equal(
		query_groups(t.view, &filter, GROUP_BY_SITE, VALUE_ALLOCATED, 0, &sites, NULL), 0);
	assert_int_equal(query_groups(t.view, &filter, GROUP_BY_BACKTRACE, VALUE_ALLOCATED, 0,
				      &backtraces, NULL),
			 0);
	filter_done(&filter);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	groups_done(&sites);
	groups_done(&backtraces);
	test_close(&t);
	return 0;
}

static void expect(const struct caller *c, const char *function, uint64_t bytes, uint64_t blocks,
		   bool parted)
{
	assert_string_equal(c->function, function);
	assert_int_equal(c->value.bytes, bytes);
	assert_int_equal(c->value.blocks, blocks);
	assert_int_equal(c->parted, parted);
	assert_string_equal(view_frame(t.view, c->node, c->frame).name, function);
}

static void test_callers(void **state)
{
	struct caller list[8];
	size_t count;

	(void)state;
	assert_int_equal(sites.count, 1);
	assert_int_equal(query_callers(t.view, &backtraces, &sites.list[0], list, 8, &count), 0);
	assert_int_equal(count, 3);
	expect(&list[0], "[libother.so.1+0x300]", 90, 3, false);
	expect(&list[1], "[libother.so.1+0x200]", 70, 2, false);
	expect(&list[2], "[libother.so.1+0x100]", 70, 2, false);
}

/* Neither has most: both are named, and the way ends. */
static void test_parted(void **state)
{
	struct groups even = {.total = backtraces.total, .count = backtraces.count};
	struct group copy[3];
	struct caller list[8];
	size_t count;

	(void)state;
	assert_int_equal(backtraces.count, 3);
	memcpy(copy, backtraces.list, sizeof(copy));
	even.list = copy;
	for (size_t i = 0; i < 3; i++)
		if (copy[i].node == OTHER_SITE)
			copy[i].value.bytes = 60;
	assert_int_equal(query_callers(t.view, &even, &sites.list[0], list, 8, &count), 0);
	assert_int_equal(count, 3);
	expect(&list[0], "[libother.so.1+0x300]", 130, 3, false);
	expect(&list[1], "[libother.so.1+0x200]", 70, 2, true);
	expect(&list[2], "[libother.so.1+0x500]", 60, 1, true);
	assert_int_equal(list[1].node, LOOP);
	assert_int_equal(list[2].node, OTHER);
	assert_int_equal(query_callers(t.view, &even, &sites.list[0], list, 2, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(query_callers(t.view, &even, &sites.list[0], list, 0, &count), 0);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_parted),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
