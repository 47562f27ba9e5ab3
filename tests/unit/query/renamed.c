/* Functions that look renamed: which are named, and that --map of them makes them one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/query/golden_recordings.h"

/* main > header > SITE, main > body > SITE, main > body > SECOND */
enum { MAIN = 1, HEADER, BODY, HEADER_SITE, BODY_SITE, BODY_SECOND, NODES = BODY_SECOND };

/* What a build allocates, in blocks of `size` bytes. */
struct build {
	const char *site, *second; /* names of the functions */
	const char *file;	   /* of the first; the others are in "other.c" */
	unsigned in_header, in_body, of_second;
	uint64_t size, second_size;
};

/* Names the five places, which lie 0x100 apart. */
static void send_names(struct builder *b, const struct build *w)
{
	const char *texts[] = {"main", "header", "body", w->site, w->second, w->file, "other.c"};
	uint64_t module[5], offset[5], frames[5], function[5], file[5], line[5];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Names names = HEAPCAST__NAMES__INIT;

	for (unsigned i = 0; i < 5; i++) {
		module[i] = 2;
		offset[i] = golden_zigzag(0x100);
		frames[i] = 1;
		function[i] = 1 + i;
		file[i] = i == 3 ? 6 : 7;
		line[i] = 10 * i;
	}
	names.first_text = 1;
	names.texts = golden_texts(texts, 7);
	names.module = golden_column(module, 5);
	names.offset = golden_column(offset, 5);
	names.frames = golden_column(frames, 5);
	names.function = golden_column(function, 5);
	names.file = golden_column(file, 5);
	names.line = golden_column(line, 5);
	batch.names = &names;
	golden_send(b, &batch);
}

static void open_build(struct test_recording *t, const struct build *w)
{
	const struct stack_node nodes[NODES] = {
		{.module = 2, .offset = 0x100},
		{.parent = MAIN, .module = 2, .offset = 0x200},
		{.parent = MAIN, .module = 2, .offset = 0x300},
		{.parent = HEADER, .module = 2, .offset = 0x400},
		{.parent = BODY, .module = 2, .offset = 0x400},
		{.parent = BODY, .module = 2, .offset = 0x500},
	};
	const unsigned counts[] = {w->in_header, w->in_body, w->of_second};
	struct builder b;
	uint64_t time = 0;

	builder_init(&b, 1);
	test_first_batch(&b, nodes, NODES, "/nowhere/libexample.so", 0, false);
	send_names(&b, w);
	for (uint32_t kind = 0; kind < 3; kind++)
		for (unsigned i = 0; i < counts[kind]; i++) {
			uint64_t size = kind == 2 ? w->second_size : w->size;

			time++;
			builder_event(&b,
				      &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						      .thread = 1,
						      .time_ns = time,
						      .address = 0x1000 * time,
						      .size = size,
						      .weight = size,
						      .stack = HEADER_SITE + kind});
		}
	builder_end(&b, 0);
	test_open(t, &b);
	builder_done(&b);
}

static void compare(const struct build *old, const struct build *new, enum grouping grouping,
		    const struct diff_renamed *renamed, struct diff *ret_diff,
		    struct test_recording sides[2])
{
	struct filter f;

	filter_init(&f);
	open_build(&sides[0], old);
	open_build(&sides[1], new);
	assert_int_equal(
		query_diff_renamed(&(struct diff_side){sides[0].view, &f, VALUE_LEAKED, NO_TIME},
				   &(struct diff_side){sides[1].view, &f, VALUE_LEAKED, NO_TIME},
				   grouping, renamed, renamed != NULL, ret_diff, NULL),
		0);
}

static size_t hints(const struct build *old, const struct build *new)
{
	struct test_recording sides[2];
	struct diff diff;
	size_t count;

	compare(old, new, GROUP_BY_SITE, NULL, &diff, sides);
	count = diff.hint_count;
	diff_done(&diff);
	test_close(&sides[0]);
	test_close(&sides[1]);
	return count;
}

#define OLD                                                                                        \
	{                                                                                          \
		.site = "parse", .second = "scan", .file = "parse.c", .in_header = 40,             \
		.in_body = 10, .of_second = 10, .size = 100, .second_size = 7                      \
	}
static const struct build old = OLD;

static void check_renamed(const struct build *new, enum grouping grouping)
{
	const struct diff_renamed renamed = {"parse", "parse_all", "parse", "parse_all"};
	struct test_recording sides[2];
	struct diff diff;

	compare(&old, new, grouping, NULL, &diff, sides);
	assert_int_equal(diff.hint_count, 1);
	assert_string_equal(diff.hints[0].old, "parse");
	assert_string_equal(diff.hints[0].name, "parse_all");
	assert_true(diff.hints[0].percent > 97.9 && diff.hints[0].percent < 98.1);
	assert_int_equal(diff.hints[0].base.bytes, 5000);
	assert_int_equal(diff.hints[0].now.blocks, 49);
	assert_int_not_equal(diff.removed, 0);
	diff_done(&diff);
	test_close(&sides[0]);
	test_close(&sides[1]);

	/* With the hint, they are one. */
	compare(&old, new, grouping, &renamed, &diff, sides);
	assert_int_equal(diff.hint_count, 0);
	assert_int_equal(diff.added + diff.removed, 0);
	assert_int_equal(diff.changed, 1);
	assert_int_equal(diff.bytes, -100);
	diff_done(&diff);
	test_close(&sides[0]);
	test_close(&sides[1]);
}

static void test_renamed(void **state)
{
	struct build new = OLD;

	(void)state;
	new.site = "parse_all";
	new.in_header = 39;
	check_renamed(&new, GROUP_BY_SITE);
	check_renamed(&new, GROUP_BY_FUNCTION);
	check_renamed(&new, GROUP_BY_BACKTRACE);
}

/* Where it is not clear, nothing is said. */
static void test_unclear(void **state)
{
	struct build new = OLD;

	(void)state;
	assert_int_equal(hints(&old, &new), 0); /* nothing went */
	new.site = "parse_all";
	assert_int_equal(hints(&old, &new), 1);
	new.in_body = 0; /* a caller less: 80 % are left, which is enough */
	assert_int_equal(hints(&old, &new), 1);
	new.in_header = 39; /* and this is too little */
	assert_int_equal(hints(&old, &new), 0);
	new = (struct build)OLD;
	new.site = "parse_all";
	new.size = 50; /* as many blocks, half the bytes */
	assert_int_equal(hints(&old, &new), 0);
	new = (struct build)OLD;
	new.site = "parse_all";
	new.in_header = 10; /* other callers */
	new.in_body = 40;
	assert_int_equal(hints(&old, &new), 0);
	new = (struct build)OLD;
	new.site = "parse_all"; /* both went, and it is clear which is which */
	new.second = "scan_all";
	assert_int_equal(hints(&old, &new), 2);
}

/* Two that came could be the one that went; and none, if it is in another file. */
static void test_ambiguous(void **state)
{
	struct build before = OLD, new = OLD;

	(void)state;
	before.in_header = 0;
	before.second = "body"; /* calls itself */
	before.file = "other.c";
	new = before;
	new.site = "parse_all";
	assert_int_equal(hints(&before, &new), 1);
	new.second = "scan_all";
	new.second_size = before.size;
	assert_int_equal(hints(&before, &new), 0);
	new = (struct build)OLD;
	new.site = "parse_all";
	new.file = "elsewhere.c";
	assert_int_equal(hints(&old, &new), 0);
}

/* The heaviest ones first; of equal ones, those that were seen first. */
static void test_order(void **state)
{
	static const struct {
		unsigned blocks;
		uint64_t size;
		bool first;
	} second[] = {{10, 501, true}, {10, 500, false}, {100, 50, false}, {10, 499, false}};
	struct build before = OLD, new;

	(void)state;
	before.in_header = 0;
	before.in_body = 50;
	for (size_t i = 0; i < sizeof(second) / sizeof(*second); i++) {
		struct test_recording sides[2];
		struct diff diff;

		before.of_second = second[i].blocks;
		before.second_size = second[i].size;
		new = before;
		new.site = "parse_all";
		new.second = "scan_all";
		compare(&before, &new, GROUP_BY_SITE, NULL, &diff, sides);
		assert_int_equal(diff.hint_count, 2);
		assert_string_equal(diff.hints[second[i].first].old, "parse");
		assert_string_equal(diff.hints[!second[i].first].old, "scan");
		diff_done(&diff);
		test_close(&sides[0]);
		test_close(&sides[1]);
	}
}

/* What --map cannot take, or what is no function. */
static void test_no_name(void **state)
{
	static const char *const names[] = {"operator=", "parse<'a'>", "[stack table full]"};
	struct build new = OLD;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		new.site = names[i];
		assert_int_equal(hints(&old, &new), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_renamed),	  cmocka_unit_test(test_unclear),
		cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
