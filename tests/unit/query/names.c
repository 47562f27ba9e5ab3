/*
 * Names: of functions that are known (those of this program, as if it had been recorded), of those
 * that are not, and of frames that are none; sites, inlined frames, and what expressions see of
 * them.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/time/history.h"
#include "tests/unit/locks.h"
#include "tests/unit/query/recording.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"

/* A return address within the function: behind its first instruction. */
#define WITHIN(function) ((uint64_t)(uintptr_t)(function) + 4 - bias)

static uint64_t bias;

__attribute__((noinline, noclone)) static int outer_function(int x)
{
	__asm__ volatile("" : "+r"(x) : : "memory");
	return x + 1;
}

/* Named as an allocator of the C library is. */
__attribute__((noinline, noclone)) static int memalign(int x)
{
	__asm__ volatile("" : "+r"(x) : : "memory");
	return x + 2;
}

/* A place in the middle of what is inlined. */
extern const char inlined_place[] __attribute__((visibility("hidden")));

static inline __attribute__((always_inline)) int inlined_function(int x)
{
	__asm__ volatile("nop\n\tnop\ninlined_place:\n\tnop" : "+r"(x) : : "memory");
	return x * 3;
}

__attribute__((noinline, noclone)) static int around_inlined(int x)
{
	return inlined_function(x) + 4;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

static struct test_recording t;

enum {
	OUTER = 1,
	ALLOCATOR,
	UNKNOWN,
	OTHER,
	TRUNCATED,
	LIMIT,
	FULL,
	JIT,
	BELOW_TRUNCATED,
	INLINED
};

static int open_recording(void **state)
{
	static char path[PATH_MAX];
	struct builder b;

	(void)state;
	dl_iterate_phdr(find_bias, &bias);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	struct stack_node nodes[] = {
		{.module = 1, .offset = WITHIN(outer_function)},
		{.parent = OUTER, .module = 1, .offset = WITHIN(memalign)},
		{.module = 2, .offset = 0x1234},
		{.parent = UNKNOWN, .module = 2, .offset = 0x5678},
		{.offset = 1},
		{.offset = 2},
		{.offset = 3},
		{.offset = 0x7f0012345678},
		{.parent = TRUNCATED, .module = 2, .offset = 0x1234},
		{.module = 1, .offset = (uint64_t)(uintptr_t)inlined_place - bias},
	};
	builder_init(&b, 3);
	test_first_batch(&b, nodes, sizeof(nodes) / sizeof(nodes[0]), path, bias, false);
	for (uint32_t i = 0; i <= sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1,
				  .time_ns = 10 + i,
				  .address = 0x1000 * (i + 1),
				  .size = 100 + i,
				  .weight = 100 + i,
				  .stack = i};

		builder_event(&b, &e);
	}
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	test_close(&t);
	return 0;
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(view_frame_name(t.view, OUTER, 0), "outer_function");
	assert_string_equal(view_frame_name(t.view, ALLOCATOR, 0), "memalign");
	assert_string_equal(view_frame_name(t.view, UNKNOWN, 0), "[libother.so.1+0x1234]");
	assert_string_equal(view_frame_name(t.view, TRUNCATED, 0), "[truncated]");
	assert_string_equal(view_frame_name(t.view, LIMIT, 0), "[depth limit]");
	assert_string_equal(view_frame_name(t.view, FULL, 0), "[stack table full]");
	assert_string_equal(view_frame_name(t.view, JIT, 0), "[0x7f0012345678]");
	assert_int_equal(view_frame_count(t.view, 0), 0);
	assert_int_equal(view_frame_count(t.view, 1000), 0);
	assert_int_equal(view_frame_count(t.view, UINT32_MAX), 0);
	assert_int_equal(view_depth_max(t.view), 2);
}

static void test_frames(void **state)
{
	struct view_frame frame = view_frame(t.view, OUTER, 0);

	(void)state;
	assert_string_equal(frame.function, "outer_function");
	assert_non_null(strstr(frame.file, "names.c"));
	assert_true(frame.line > 0);
	assert_int_equal(frame.address, (uintptr_t)outer_function + 4);
	assert_false(frame.is_allocator);
	assert_true(view_frame(t.view, ALLOCATOR, 0).is_allocator);
	frame = view_frame(t.view, UNKNOWN, 0);
	assert_null(frame.function);
	assert_string_equal(frame.module, "/usr/lib/libother.so.1");
	assert_int_equal(view_frame(t.view, TRUNCATED, 0).address, 0);
	assert_int_equal(view_frame(t.view, JIT, 0).address, 0x7f0012345678);
}

/* One address, and two functions: the inner one first. Other places have theirs behind it. */
static void test_inlined(void **state)
{
	struct view_frame inner = view_frame(t.view, INLINED, 0),
			  outer = view_frame(t.view, INLINED, 1);

	(void)state;
	assert_int_equal(view_frame_count(t.view, INLINED), 2);
	assert_string_equal(inner.function, "inlined_function");
	assert_string_equal(outer.function, "around_inlined");
	assert_true(inner.is_inline && !outer.is_inline);
	assert_true(inner.line > 0 && inner.line < outer.line);
	assert_int_equal(inner.address, outer.address);
	assert_int_equal(view_frame_count(t.view, OUTER), 1);
	assert_int_equal(view_frame_count(t.view, UNKNOWN), 1);
	assert_int_equal(view_frame_count(t.view, BELOW_TRUNCATED), 1);
}

static void test_counts(void **state)
{
	struct err_text err = {0};
	uint64_t count;

	(void)state;
	/* Its own allocation and that of its callee. */
	assert_int_equal(view_place_allocations(t.view, OUTER, &count, &err), 0);
	assert_int_equal(count, 2);
	/* The same place twice in the tree: UNKNOWN, OTHER's caller, BELOW_TRUNCATED. */
	assert_int_equal(view_place_allocations(t.view, UNKNOWN, &count, &err), 0);
	assert_int_equal(count, 3);
}

static void test_sites(void **state)
{
	struct filter f;
	struct groups groups;
	struct err_text err = {0};
	bool seen = false;

	(void)state;
	filter_init(&f);
	assert_int_equal(
		query_groups(t.view, &f, GROUP_BY_SITE, VALUE_ALLOCATED, NO_TIME, &groups, &err),
		0);
	for (size_t i = 0; i < groups.count; i++) {
		assert_string_not_equal(groups.list[i].function, "memalign");
		if (strcmp(groups.list[i].function, "outer_function") != 0)
			continue;
		seen = true;
		assert_int_equal(groups.list[i].value.bytes, 101 + 102);
		assert_int_equal(groups.list[i].node, ALLOCATOR);
		assert_non_null(strstr(groups.list[i].file, "names.c"));
	}
	assert_true(seen);
	/* UNKNOWN and BELOW_TRUNCATED are the same place. */
	assert_int_equal(groups.count, 9);
	groups_done(&groups);
}

static uint64_t matched(const char *name, const char *regex)
{
	struct filter f;
	struct report report;
	struct err_text err = {0};

	filter_init(&f);
	assert_int_equal(filter_set(&f, t.view, name, regex, &err), 0);
	assert_int_equal(query_report(t.view, &f, &report, &err), 0);
	filter_done(&f);
	return report.allocations;
}

static void test_expressions(void **state)
{
	(void)state;
	assert_int_equal(matched("function_regex", "^outer_function$"), 2);
	assert_int_equal(matched("function_regex", "^mema"), 1);
	assert_int_equal(matched("function_regex", "^inlined_function$"), 1);
	assert_int_equal(matched("function_regex", "^around_inlined$"), 1);
	assert_int_equal(matched("function_regex", "truncated"), 2);
	assert_int_equal(matched("negative_function_regex", "^outer_function$"), 9);
	assert_int_equal(matched("source_regex", "names\\.c$"), 3);
	assert_int_equal(matched("negative_source_regex", "names\\.c$"), 8);
	assert_int_equal(matched("source_regex", "libother"), 0);
}

static void test_tree(void **state)
{
	struct filter f;
	struct tree tree;
	struct err_text err = {0};
	bool nowhere = false;

	(void)state;
	filter_init(&f);
	f.hide = HIDE_NONE;
	assert_int_equal(query_tree(t.view, &f, VALUE_ALLOCATED, NO_TIME, &tree, &err), 0);
	assert_int_equal(tree.nodes[0].blocks, 11);
	for (size_t i = 1; i < tree.count; i++) {
		nowhere |= !strcmp(tree.nodes[i].function, "[no backtrace]") &&
			   tree.nodes[i].self_bytes == 100;
		if (!strcmp(tree.nodes[i].function, "outer_function")) {
			assert_int_equal(tree.nodes[i].bytes, 203);
			assert_int_equal(tree.nodes[i].self_bytes, 101);
			assert_string_equal(tree.nodes[tree.nodes[i].first_child].function,
					    "memalign");
		}
	}
	assert_true(nowhere);
	tree_done(&tree);
	/* What only passes on is hidden unless one asks for it. */
	f.hide = HIDE_DEFAULT;
	assert_int_equal(query_tree(t.view, &f, VALUE_ALLOCATED, NO_TIME, &tree, &err), 0);
	assert_int_equal(tree.nodes[0].blocks, 11);
	for (size_t i = 1; i < tree.count; i++) {
		assert_string_not_equal(tree.nodes[i].function, "memalign");
		if (!strcmp(tree.nodes[i].function, "outer_function"))
			assert_int_equal(tree.nodes[i].self_bytes, 203);
	}
	tree_done(&tree);
}

static uint64_t allocated_elsewhere(struct test_recording *of, const char *function_regex)
{
	struct timeline_question question = {.to_ns = NO_TIME, .buckets = 4};
	struct err_text err = {0};
	struct timeline timeline;
	struct filter f;
	uint64_t allocations = 0;

	filter_init(&f);
	assert_int_equal(filter_set(&f, of->view, "negative_function_regex", function_regex, &err),
			 0);
	assert_int_equal(query_timeline(of->view, &f, &question, &timeline, &err), 0);
	for (uint32_t i = 0; i < timeline.count; i++)
		allocations += timeline.list[i].allocations;
	timeline_done(&timeline);
	filter_done(&f);
	return allocations;
}

/* The program's file comes after a question was asked that matches by names: what was kept of that
 * question is not used again. */
static void test_late_names(void **state)
{
	struct stack_node nodes[] = {{.module = 1, .offset = WITHIN(outer_function)},
				     {.parent = OUTER, .module = 1, .offset = WITHIN(memalign)}};
	char folder[] = "/tmp/heapcast-test.XXXXXX", path[64], self[PATH_MAX];
	struct test_recording late;
	struct err_text err = {0};
	struct builder b;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program", folder);
	assert_non_null(realpath("/proc/self/exe", self));
	builder_init(&b, 4);
	test_first_batch(&b, nodes, 2, path, bias, false);
	for (uint32_t i = 0; i < 90; i++)
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						  .thread = 1,
						  .time_ns = 10 + i,
						  .address = 0x1000 * (i + 1),
						  .size = 100,
						  .weight = 100,
						  .stack = i % 3});
	builder_end(&b, 0);
	test_open(&late, &b);
	builder_done(&b);
	history_set_sizes(4, 0); /* many bins, of which only the last is read again for an answer */
	assert_int_equal(allocated_elsewhere(&late, "^memalign$"), 90);
	assert_int_equal(symlink(self, path), 0);
	symbols_refresh(late.symbols);
	assert_int_equal(view_forget_names(late.view, &err), 0);
	assert_int_equal(allocated_elsewhere(&late, "^memalign$"), 60);
	history_set_sizes(0, 0);
	test_close(&late);
	unlink(path);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	cmocka_unit_test(test_frames),
		cmocka_unit_test(test_inlined), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_sites),	cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_tree),	cmocka_unit_test(test_late_names),
	};

	/* The lookup starts this program as its worker. */
	if (argc > 1 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	assert(outer_function(1) + memalign(1) + around_inlined(1) == 12);
	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
