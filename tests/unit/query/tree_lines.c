/*
 * Which line a frame of a tree shows. A frame stands for all lines of its function; it shows the
 * one through which most bytes came, which is the first call site of the function in a list of
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/query/golden_recordings.h"

#define PLACES 5

/* main calls f at lines 1 and 2; f allocates at lines 10 and 20. */
enum { MAIN_1 = 1, MAIN_2, F_10, F_20, F_20_TOO, NODES = F_20_TOO };

static const struct stack_node nodes[NODES] = {
	{.module = 2, .offset = 0x100},
	{.module = 2, .offset = 0x200},
	{.parent = MAIN_1, .module = 2, .offset = 0x300},
	{.parent = MAIN_1, .module = 2, .offset = 0x400},
	{.parent = MAIN_2, .module = 2, .offset = 0x500},
};

static void send_names(struct builder *b)
{
	static const char *const texts[] = {"main", "f", "f.c"};
	uint64_t module[PLACES], offset[PLACES], frames[PLACES], file[PLACES];
	uint64_t function[PLACES] = {1, 1, 2, 2, 2}, line[PLACES] = {1, 2, 10, 20, 20};
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Names names = HEAPCAST__NAMES__INIT;

	for (unsigned i = 0; i < PLACES; i++) {
		module[i] = 2;
		offset[i] = golden_zigzag(0x100);
		frames[i] = 1;
		file[i] = 3;
	}
	names.first_text = 1;
	names.texts = golden_texts(texts, 3);
	names.module = golden_column(module, PLACES);
	names.offset = golden_column(offset, PLACES);
	names.frames = golden_column(frames, PLACES);
	names.function = golden_column(function, PLACES);
	names.file = golden_column(file, PLACES);
	names.line = golden_column(line, PLACES);
	batch.names = &names;
	golden_send(b, &batch);
}

static void ask(const uint64_t sizes[3], uint32_t main_line, uint32_t f_line)
{
	struct test_recording t;
	struct builder b;
	struct groups sites;
	struct filter f;
	struct tree tree;

	builder_init(&b, 4);
	test_first_batch(&b, nodes, NODES, "/nowhere/libexample.so", 0, false);
	send_names(&b);
	for (uint32_t i = 0; i < 3; i++)
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						  .thread = 1,
						  .time_ns = 10 + i,
						  .address = 0x1000 * (i + 1),
						  .size = sizes[i],
						  .weight = sizes[i],
						  .stack = F_10 + i});
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	filter_init(&f);
	assert_int_equal(query_tree(t.view, &f, VALUE_ALLOCATED, NO_TIME, &tree, NULL), 0);
	assert_int_equal(tree.count, 3); /* the root, main, f */
	for (size_t i = 1; i < tree.count; i++)
		assert_int_equal(tree.nodes[i].line,
				 strcmp(tree.nodes[i].function, "main") ? f_line : main_line);
	tree_done(&tree);
	/* A list of call sites begins with the same line. */
	assert_int_equal(
		query_groups(t.view, &f, GROUP_BY_SITE, VALUE_ALLOCATED, NO_TIME, &sites, NULL), 0);
	assert_int_equal(sites.list[0].line, f_line);
	groups_done(&sites);
	test_close(&t);
}

static void test_heaviest_line(void **state)
{
	(void)state;
	ask((uint64_t[]){100, 30, 20}, 1, 10);
	ask((uint64_t[]){100, 120, 20}, 1, 20);
	ask((uint64_t[]){100, 80, 70}, 1, 20); /* two backtraces, one line */
	ask((uint64_t[]){100, 0, 170}, 2, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heaviest_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
