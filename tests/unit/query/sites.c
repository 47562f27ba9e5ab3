/* Which functions only pass allocations on. */
#include <errno.h>
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
#include "collector/query/hidden.h"
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
		"xmalloc",
		"g_malloc0_n",
		"sqlite3MemMalloc",
		"std::pair<int, int>::pair(int)",
		"std::__1::unordered_map<int, int>::emplace(int)",
		"QString::append(QString const&)",
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
		"sqlite3MemJournalOpen",
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
	assert_true(site_is_allocator(rules, "int xmalloc")); /* with a return type */
	assert_false(site_is_allocator(rules, "xmalloc_all"));
	assert_false(site_is_allocator(rules, ""));	  /* an empty line is no rule, */
	assert_false(site_is_allocator(rules, "# mine")); /* nor is a remark */
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

/* Short rules: the star is no part of the name, and every other character is. */
static void test_short_rules(void **state)
{
	static const struct {
		const char *rule, *fits, *fits_not;
	} of[] = {
		{"a*", "abc", "bac"},	 {"*c", "abc", "acb"},	   {"*b*", "abc", "acd"},
		{"a", "a", "ab"},	 {"ab*", "ab", "a"},	   {"*bc", "bc", "c"},
		{"*bc*", "abcd", "ac"},	 {"\t a \t\r", "a", "ab"}, {"a*b", "a*b", "ab"},
		{"a b*", "a bc", "a c"}, {"a b", "a b", "ab"},
	};
	struct site_rules *rules;
	struct err_text err = {0};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		snprintf(text, sizeof(text), "!default\n%s", of[i].rule);
		assert_int_equal(read_rules(text, &rules, &err), 0);
		if (!site_is_allocator(rules, of[i].fits))
			fail_msg("%s fits %s", of[i].rule, of[i].fits);
		if (site_is_allocator(rules, of[i].fits_not))
			fail_msg("%s does not fit %s", of[i].rule, of[i].fits_not);
		site_rules_free(rules);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(read_rules(i ? "x\n**" : "**", &rules, &err), -EINVAL);
		assert_non_null(strstr(err.text, i ? "line 2" : "line 1"));
	}
	site_rules_free(NULL);
}

static void test_most_rules(void **state)
{
	char *text = malloc(2 * 10001 + 1);
	struct site_rules *rules;
	struct err_text err = {0};

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < 10001; i++)
		memcpy(text + 2 * i, i ? "x\n" : "y\n", 3);
	assert_int_equal(read_rules(text, &rules, &err), -E2BIG);
	assert_non_null(strstr(err.text, "10000"));
	text[2 * 10000] = 0;
	assert_int_equal(read_rules(text, &rules, &err), 0);
	assert_true(site_is_allocator(rules, "y"));
	site_rules_free(rules);
	free(text);
}

/* A function by another name fits the same rule, and shows nothing of its own name but that. */
static void test_disguises(void **state)
{
	static const char *const of[][2] = {
		{"malloc", "malloc"},
		{"void* operator new(unsigned long)", "operator new[w]"},
		{"std::vector<secret>::grow()", "std::vector<w>"},
		{"alloc::vec::Vec<T>::secret", "alloc::vec::w"},
		{"__rust_secret", "__rust_w"},
		{"<secret as core::alloc::Allocator>::grow", "<w as core::alloc::Allocator>::w"},
		{"std::allocator_traits<secret>::allocate()", "std::allocator[w]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		char *other = site_disguise(of[i][0], "w");

		assert_non_null(other);
		assert_string_equal(other, of[i][1]);
		assert_true(site_is_allocator(NULL, other));
		free(other);
	}
	assert_null(site_disguise("main", "w"));
	assert_null(site_disguise("", "w"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocators),	cmocka_unit_test(test_others),
		cmocka_unit_test(test_rules_of_a_file), cmocka_unit_test(test_short_rules),
		cmocka_unit_test(test_most_rules),	cmocka_unit_test(test_disguises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
