/* Conditions that are judged row by row, in more rows than a block has: each block by its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "tests/unit/query/recording.h"

#define BEHIND 700 /* rows of the second block */
#define ROWS   (ROWS_PER_BLOCK + BEHIND)
#define FIRST  100		      /* the first row with number 1 and label "one" */
#define SECOND (ROWS_PER_BLOCK + 200) /* likewise 2 and "two" */

static struct test_recording t;

static void put_mark(struct builder *b, Heapcast__MarkKind kind, uint64_t value, const char *text)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	mark.kind = kind;
	mark.thread = 1;
	mark.time_ns = b->last_ns + 1;
	mark.value = value;
	mark.text = builder_bytes(text, strlen(text));
	b->mark = &mark;
	builder_close(b, b->last_ns);
}

static int open_recording(void **state)
{
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	for (uint32_t i = 0; i < ROWS; i++) {
		if (i == FIRST || i == SECOND) {
			put_mark(&b, HEAPCAST__MARK_KIND__MARK_NUMBER, 1 + (i == SECOND), "");
			put_mark(&b, HEAPCAST__MARK_KIND__MARK_LABEL, 0,
				 i == FIRST ? "one" : "two");
		}
		builder_malloc(&b, 100 + 10 * (uint64_t)i, 1 + i % 2, 0x10000 + 64 * (uint64_t)i,
			       1 + i % 5);
	}
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	assert_int_equal(recording_blocks(t.recording), 2);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	test_close(&t);
	return 0;
}

static uint64_t matched(const char *name, const char *value)
{
	struct filter f;
	struct report report;
	struct err_text err = {0};

	filter_init(&f);
	if (filter_set(&f, t.view, name, value, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(query_report(t.view, &f, &report, &err), 0);
	filter_done(&f);
	return report.allocations;
}

static void by_number(void **state)
{
	(void)state;
	assert_int_equal(matched("marker", "0"), FIRST);
	assert_int_equal(matched("marker", "1"), SECOND - FIRST);
	assert_int_equal(matched("marker", "2"), ROWS - SECOND);
	assert_int_equal(matched("marker", "3"), 0);
}

/* Of the thread that has it: every other row. */
static void by_label(void **state)
{
	(void)state;
	assert_int_equal(matched("tag", "one"), (SECOND - FIRST) / 2);
	assert_int_equal(matched("tag", "two"), (ROWS - SECOND) / 2);
}

static void by_row(void **state)
{
	(void)state;
	assert_int_equal(matched("temporary", "no"), ROWS);
	assert_int_equal(matched("chain_length_min", "2"), 0);
	assert_int_equal(matched("chain_length_max", "1"), ROWS);
	assert_int_equal(matched("lifetime", "only_chain_leaked"), ROWS);
	assert_int_equal(matched("thread", "1"), ROWS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_number),
		cmocka_unit_test(by_label),
		cmocka_unit_test(by_row),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
