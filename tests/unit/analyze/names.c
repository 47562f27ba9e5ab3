/* Names as people see them. What is expected was written by Python's regular expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/analyze/analysis.h"

#define X39 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define E40                                                                                        \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"     \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"                                                     \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"     \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"

static const struct {
	const char *frame, *shortened, *label;
} names[] = {
	{"main", "main", "main"},
	{"f(int, char)", "f(int, char)", "f"},
	{"A<" X39 ">::f(a)", "A<" X39 ">::f(a)", "A<" X39 ">::f"},
	{"A<" X39 "y>::f(a)", "A<...>::f(a)", "A<...>::f"},
	{"A<" E40 ">::f", "A<...>::f", "A<...>::f"},
	{"A<B<" X39 ">>::f", "A<...>>::f", "A<...>>::f"},
	{"a<b>c<" X39 "y>", "a<b>c<...>", "a<b>c<...>"},
	{"a < b", "a < b", "a < b"},
	{"(anonymous namespace)::f(int)::g", "(anonymous namespace)::f(int)::g",
	 "(anonymous namespace)::f"},
	{"{anon}::f", "{anon}::f", "(anonymous namespace)::f"},
	{"(x)", "(x)", ""},
	{"", "", ""},
};

static void names_are_shortened(void **state)
{
	struct buf out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		buf_clear(&out);
		analysis_shorten(names[i].frame, &out);
		assert_string_equal(buf_text(&out), names[i].shortened);
		buf_clear(&out);
		analysis_label(names[i].frame, &out);
		assert_string_equal(buf_text(&out), names[i].label);
	}
	buf_done(&out);
}

static void labels_end_after_120_characters(void **state)
{
	struct buf frame = {0}, out = {0};

	(void)state;
	for (int i = 0; i < 130; i++)
		buf_string(&frame, "\u00fc");
	analysis_label(buf_text(&frame), &out);
	assert_int_equal(out.length, 240);
	buf_done(&frame);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shortened),
		cmocka_unit_test(labels_end_after_120_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
