/* Names as people see them. tests/unit/symbols/fold_name.c has what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/analyze/analysis.h"

static void assert_named(const char *frame, const char *expected)
{
	struct buf out = {0};

	analysis_name(frame, &out);
	assert_string_equal(buf_text(&out), expected);
	buf_done(&out);
}

static void names_are_short(void **state)
{
	(void)state;
	assert_named("main", "main");
	assert_named("f(int, char)", "f");
	assert_named("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	assert_named("std::__new_allocator<std::__cxx11::basic_string<char, std::allocator<char> > "
		     ">::allocate(unsigned long, void const*)",
		     "std::__new_allocator<...>::allocate");
	assert_named("DB::SystemLog<DB::TextLogElement>::add()",
		     "DB::SystemLog<DB::TextLogElement>::add");
	assert_named("A<xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx>::f",
		     "A<xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx>::f"); /* 40 */
	assert_named("A<xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx>::f", "A<...>::f");
	assert_named("a < b", "a < b");
	assert_named("(x)", "(x)");
	assert_named("", "");
}

static void rules_see_no_parameters(void **state)
{
	struct buf out = {0};

	(void)state;
	analysis_bare_name("Hub<std::vector<int, std::allocator<int> > >::add(std::string const&)",
			   &out);
	assert_string_equal(buf_text(&out), "Hub<std::vector<int, std::allocator<int> > >::add");
	buf_done(&out);
}

static void names_end_after_120_characters(void **state)
{
	struct buf frame = {0}, out = {0};

	(void)state;
	for (int i = 0; i < 130; i++)
		buf_string(&frame, "\u00fc");
	analysis_name(buf_text(&frame), &out);
	assert_int_equal(out.length, 240);
	buf_done(&frame);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_short),
		cmocka_unit_test(rules_see_no_parameters),
		cmocka_unit_test(names_end_after_120_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
