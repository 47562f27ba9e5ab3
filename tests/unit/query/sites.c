/* Which functions only pass allocations on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/query/query.h"
#include "collector/query/match/sites.h"

static void test_allocators(void **state)
{
	static const char *const yes[] = {
		"malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
		"std::__new_allocator<char>::allocate(unsigned long, void const*)",
		"std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
		"unsigned long)",
		"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int)",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">::_M_create(unsigned long&)",
		"alloc::raw_vec::finish_grow",
		"__rust_alloc",
		"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!site_is_allocator(NULL, yes[i]))
			fail_msg("%s is an allocator's", yes[i]);
}

static void test_others(void **state)
{
	static const char *const no[] = {
		"main",
		"",
		"malloc_everything",
		"sqlite3MemMalloc",
		"my::vector<std::vector<int> >::push_back(int)",
		"parse(std::vector<int, std::allocator<int> >&)",
		"void parse<std::allocator<int> >(int)",
		"Foo::operator new_thing()",
		"(anonymous namespace)::make(std::allocator<char>)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (site_is_allocator(NULL, no[i]))
			fail_msg("%s is not an allocator's", no[i]);
}

/* Reads rules from a file that goes again. */
static int read_rules(const char *text, struct site_rules **ret_rules, struct err_text *err)
{
	char path[] = "/tmp/heapcast-rules.XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = site_rules_read(path, ret_rules, err);
	unlink(path);
	return r;
}

static void test_rules_of_a_file(void **state)
{
	struct site_rules *rules;
	struct err_text err = {0};

	(void)state;
	assert_int_equal(read_rules("# mine\n\n  xmalloc  \nmy::pool::*\n*::grow(int)\n*detail*",
				    &rules, &err),
			 0);
	assert_true(site_is_allocator(rules, "xmalloc"));
	assert_true(site_is_allocator(rules, "void* my::pool::take(int)"));
	assert_true(site_is_allocator(rules, "a::b::grow(int)"));
	assert_true(site_is_allocator(rules, "x::detail::y()"));
	assert_true(site_is_allocator(rules, "malloc"));
	assert_false(site_is_allocator(rules, "xmalloc_all"));
	assert_false(site_is_allocator(rules, "grow(int)"));
	assert_false(site_is_allocator(rules, "main"));
	site_rules_free(rules);
	assert_int_equal(read_rules("!default\nxmalloc\n", &rules, &err), 0);
	assert_true(site_is_allocator(rules, "xmalloc"));
	assert_false(site_is_allocator(rules, "malloc"));
	site_rules_free(rules);
	assert_true(read_rules("xmalloc\n!defaults\n", &rules, &err) < 0);
	assert_non_null(strstr(err.text, "line 2"));
	assert_true(read_rules("*\n", &rules, &err) < 0);
	assert_true(site_rules_read("/nowhere/rules", &rules, &err) < 0);
	assert_non_null(strstr(err.text, "/nowhere/rules"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocators),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_rules_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
