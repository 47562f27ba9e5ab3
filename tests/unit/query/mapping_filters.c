/* Filters of mappings mean what they do of blocks, as far as a mapping has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/match/mappings.h"
#include "tests/unit/query/recording.h"

#define BASE 0x100000ull

static struct test_recording t;
static struct mappings m;

static void call(struct builder *b, uint64_t time, uint8_t kind, uint64_t address, uint64_t size)
{
	builder_event(
		b, &(struct event){.kind = kind,
				   .thread = 1,
				   .time_ns = time,
				   .address = address,
				   .size = size,
				   .stack = 1,
				   .weight = kind == HEAPCAST__EVENT_KIND__EVENT_MMAP ? size : 0});
}

/* Two mappings, of which the second stays, beside a block that is leaked or not. Free the path. */
static char *open_two(bool leaked)
{
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct builder b;
	char *path;

	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	builder_malloc(&b, 5, 1, 0x10, 8);
	if (!leaked)
		builder_free(&b, 6, 1, 0x10);
	call(&b, 10, HEAPCAST__EVENT_KIND__EVENT_MMAP, BASE, 0x4000);
	call(&b, 20, HEAPCAST__EVENT_KIND__EVENT_MMAP, 2 * BASE, 0x8000);
	call(&b, 30, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, BASE, 0x4000);
	builder_malloc(&b, 40, 1, 0x20, 8);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t.symbols, NULL), 0);
	assert_int_equal(view_new(t.recording, t.symbols, &t.view, NULL), 0);
	assert_int_equal(query_mappings(t.view, true, NULL, &m, NULL), 0);
	assert_int_equal(m.count, 2);
	return path;
}

static void check(const char *name, const char *value, bool first, bool second)
{
	struct filter f;
	bool *passes;

	assert_true(mapping_takes_filter(name));
	filter_init(&f);
	assert_true(filter_set(&f, t.view, name, value, NULL) >= 0);
	assert_int_equal(query_mappings_match(t.view, &f, &m, &passes, NULL), 0);
	if (passes[0] != first || passes[1] != second)
		fail_msg("%s=%s: %d %d", name, value, passes[0], passes[1]);
	free(passes);
	filter_done(&f);
}

static void test_filters(void **state)
{
	static const struct {
		const char *name, *value;
		bool first, second;
	} cases[] = {
		{"size_min", "16384", true, true},
		{"size_min", "16385", false, true},
		{"size_max", "32767", true, false},
		{"size_max", "32768", true, true},
		{"from", "10ns", true, true},
		{"from", "11ns", false, true},
		{"to", "19ns", true, false},
		{"to", "20ns", true, true},
		{"address_min", "0x100001", false, true},
		{"address_max", "0x1fffff", true, false},
		{"lifetime_min", "20ns", true, true},
		{"lifetime_min", "21ns", false, false},
		{"lifetime_max", "20ns", true, true},
		{"lifetime_max", "19ns", false, false},
		{"alive_at", "10ns", true, false},
		{"alive_at", "29ns", true, true},
		{"alive_at", "30ns", false, true},
		{"alive_at_2", "20ns", true, true},
		{"thread", "1", true, true},
		{"backtraces", "1", true, true},
		{"deallocation_backtraces", "1", true, false},
		{"backtrace_depth_min", "2", false, false},
		{"module", "libother.so.1", true, true},
		{"function_regex", "libother", true, true},
		{"negative_function_regex", "libother", false, false},
		/* What becomes of blocks and their chains says nothing of a mapping. */
		{"lifetime", "only_leaked", false, true},
		{"lifetime", "only_chain_leaked", false, true},
		{"lifetime", "only_freed", true, false},
		{"lifetime", "only_deallocated_in_current_range", true, false},
		{"lifetime", "only_not_deallocated_in_current_range", false, true},
	};

	(void)state;
	for (unsigned leaked = 0; leaked < 2; leaked++) {
		char *path = open_two(leaked);
		struct filter f;
		bool *passes;

		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			check(cases[i].name, cases[i].value, cases[i].first, cases[i].second);
		filter_init(&f);
		f.before_start = true;
		assert_int_equal(query_mappings_match(t.view, &f, &m, &passes, NULL), 0);
		assert_false(passes[0] || passes[1]);
		free(passes);
		mappings_done(&m);
		test_close(&t);
		unlink(path);
		free(path);
	}
}

/* What only a block has. */
static void test_not_taken(void **state)
{
	static const char *const names[] = {
		"tag",	    "temporary",	  "mmaped",
		"arena",    "chain_length_min",	  "position_in_chain_max",
		"marker",   "group_interval_min", "first_size_min",
		"nonsense", "from_map",		  "hide"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(mapping_takes_filter(names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
