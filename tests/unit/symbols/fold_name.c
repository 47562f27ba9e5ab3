/* Names of functions as people see them: what is left out, and that any text is survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/symbols/fold_name.h"

static void assert_folds(const char *name, const char *expected)
{
	char out[256];

	assert_int_equal(fold_name(out, sizeof(out), name), strlen(expected));
	assert_string_equal(out, expected);
}

static void cxx(void **unused)
{
	(void)unused;
	assert_folds("std::vector<int, std::allocator<int> >::push_back(int const&)",
		     "std::vector<...>::push_back");
	assert_folds("(anonymous namespace)::LruCache<std::string, std::vector<int> >::get(int)",
		     "(anonymous namespace)::LruCache<...>::get");
	assert_folds("std::enable_if<true, void>::type foo<int>(int)", "foo<int>");
	assert_folds("main::{lambda(int)#1}::operator()(int) const",
		     "main::{lambda#1}::operator()");
	assert_folds("std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, int>, "
		     "false> >::allocate(unsigned long, void const*)",
		     "std::__new_allocator<...>::allocate");
	assert_folds("std::function<int (std::string&&)>::operator()(std::string&&) const",
		     "std::function<...>::operator()");
	assert_folds("std::string::_S_create[abi:cxx11](unsigned long)", "std::string::_S_create");
	assert_folds("parse(int) [clone .part.0]", "parse");
}

/* Signs of operators are no brackets. */
static void operators(void **unused)
{
	(void)unused;
	assert_folds("operator new(unsigned long)", "operator new");
	assert_folds("operator new[](unsigned long)", "operator new[]");
	assert_folds("operator delete[](void*)", "operator delete[]");
	assert_folds("Foo::operator->() const", "Foo::operator->");
	assert_folds("Foo::operator bool() const", "Foo::operator bool");
	assert_folds("A::operator<=>(A const&) const", "A::operator<=>");
	assert_folds("bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>");
	assert_folds("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&)",
		     "std::operator<< <...>");
	assert_folds("std::map<int, int>::operator[](int&&)", "std::map<...>::operator[]");
	assert_folds("my_operator<int>::f()", "my_operator<int>::f");
}

static void rust(void **unused)
{
	(void)unused;
	assert_folds("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
		     "<Vec<T,A> as Drop>::drop");
	assert_folds("<T as alloc::string::ToString>::to_string", "<T as ToString>::to_string");
	assert_folds("core::ptr::drop_in_place<alloc::boxed::Box<dyn core::fmt::Debug>>",
		     "core::ptr::drop_in_place<...>");
	assert_folds("alloc::raw_vec::RawVec<T,A>::grow_amortized",
		     "alloc::raw_vec::RawVec<T,A>::grow_amortized");
}

static void kept(void **unused)
{
	static const char *const same[] = {"main", "[libc.so.6+0x1234]",    "",	     "x<", "f(",
					   ">><<", "int (*foo(int))(char)", "_start"};

	(void)unused;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_folds(same[i], same[i]);
}

static void cut(void **unused)
{
	char out[8] = "#######";

	(void)unused;
	assert_int_equal(fold_name(out, 6, "std::vector<int>::at(int)"), 5);
	assert_string_equal(out, "std::");
	assert_int_equal(out[6], '#');
	assert_int_equal(fold_name(out, 1, "main"), 0);
	assert_string_equal(out, "");
	assert_int_equal(fold_name(out, 0, "main"), 0);
}

/* Whatever brackets come: it ends, writes no more than it may, and never more than the name has. */
static void any_text(void **unused)
{
	static const char signs[] = "<>()[]{}:a,- *&operator";
	unsigned random = 1;

	(void)unused;
	for (unsigned round = 0; round < 20000; round++) {
		size_t length = round % 120;
		char *name = malloc(length + 1), *out = malloc(length + 1);

		for (size_t i = 0; i < length; i++) {
			random = random * 1103515245 + 12345;
			name[i] = signs[(random >> 16) % (sizeof(signs) - 1)];
		}
		name[length] = '\0';
		assert_true(fold_name(out, length + 1, name) <= length);
		free(name);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx),	cmocka_unit_test(operators), cmocka_unit_test(rust),
		cmocka_unit_test(kept), cmocka_unit_test(cut),	     cmocka_unit_test(any_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
