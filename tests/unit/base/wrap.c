/* Lines of messages, wrapped at the width of a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cli/wrap.h"

static void wraps(unsigned width, const char *text, const char *expected)
{
	struct wrap wrap = {.width = width};
	struct buf out = {0};

	wrap_text(&wrap, &out, text);
	assert_string_equal(buf_text(&out), expected);
	buf_done(&out);
}

static void test_not_wrapped(void **state)
{
	(void)state;
	wraps(0, "one two three\n  four  five\n", "one two three\n  four  five\n");
	wraps(13, "one two three\n", "one two three\n");
	wraps(13, "", "");
	wraps(13, "\n\n", "\n\n");
}

static void test_wrapped(void **state)
{
	(void)state;
	wraps(12, "one two three\nfour\n", "one two\n  three\nfour\n");
	wraps(12, "one two three four five", "one two\n  three four\n  five");
	/* As the line is indented, and items of a list behind their mark. */
	wraps(12, "   one two three\n", "   one two\n   three\n");
	wraps(12, "  - one two three\n", "  - one two\n    three\n");
	/* A word without room stays whole, and begins a line. */
	wraps(8, "a /a/long/path b\n", "a\n  /a/long/path\n  b\n");
	/* Columns, not bytes. */
	wraps(7, "\xc3\xa4\xc3\xb6\xc3\xbc \xc3\x9f\xc3\x9f\xc3\x9f x\n",
	      "\xc3\xa4\xc3\xb6\xc3\xbc \xc3\x9f\xc3\x9f\xc3\x9f\n  x\n");
}

/* A message that is printed in parts is one line. */
static void test_parts(void **state)
{
	struct wrap wrap = {.width = 20};
	struct buf out = {0};

	(void)state;
	wrap_text(&wrap, &out, "heapcast top: ");
	wrap_text(&wrap, &out, "there is no such thing");
	wrap_text(&wrap, &out, "\n");
	wrap_text(&wrap, &out, "next one\n");
	assert_string_equal(buf_text(&out), "heapcast top: there\n  is no such thing\nnext one\n");
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_wrapped),
		cmocka_unit_test(test_wrapped),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
