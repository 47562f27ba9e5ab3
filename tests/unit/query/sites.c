/* Which functions only pass allocations on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sites.h"

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
		if (!site_is_allocator(yes[i]))
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
		if (site_is_allocator(no[i]))
			fail_msg("%s is not an allocator's", no[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocators),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
