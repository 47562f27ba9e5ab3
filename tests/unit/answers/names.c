/* Names without template arguments; what is no pair of angles stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collector/answers/names.h"

static void strips(void **state)
{
	static const char *const pairs[][2] = {
		{"main", "main"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector::push_back(int const&)"},
		{"std::map<std::string, std::vector<int>>::operator[](std::string&&)",
		 "std::map::operator[](std::string&&)"},
		{"operator<", "operator<"},
		{"A<1>::operator<< <int>(int)", "A::operator<< <int>(int)"},
		{"B::operator-><int>() const", "B::operator->() const"},
		{"C<(&D::operator->)>::f()", "C::f()"},
		{"operator<=>(E<int> const&, E<int> const&)", "operator<=>(E const&, E const&)"},
		{"f()::<lambda(int)>::operator()(int) const",
		 "f()::<lambda(int)>::operator()(int) const"},
		{"alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"},
		{"alloc::vec::Vec::<u8>::new", "alloc::vec::Vec::new"},
		{"<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
		 "<alloc::vec::Vec as core::clone::Clone>::clone"},
		{"foo::<impl Bar for Baz<u8>>::go", "foo::<impl Bar for Baz>::go"},
		{"fn_ptr<fn(u8) -> u8>::call", "fn_ptr::call"},
		{"broken<int", "broken<int"},
		{"broken>int", "broken>int"},
		{"", ""},
		{"<", "<"},
		{"a<", "a<"},
		{">>>", ">>>"},
		{"operator", "operator"},
		{"my_operator<int>", "my_operator"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *name = without_template_arguments(pairs[i][0]);

		assert_string_equal(name, pairs[i][1]);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strips)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
