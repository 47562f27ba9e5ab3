/* Names and paths: demangling, source paths, what may be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collector/symbols/demangle.h"
#include "collector/symbols/sourcepath.h"
#include "collector/symbols/strings.h"
#include "collector/symbols/symbols.h"

static const struct {
	const char *mangled, *name;
} names[] = {
	/* C++ (Itanium ABI) */
	{"_Znwm", "operator new(unsigned long)"},
	{"_ZN3foo3barEv", "foo::bar()"},
	{"_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const"},
	{"_ZN12_GLOBAL__N_14hideEi", "(anonymous namespace)::hide(int)"},
	{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
	{"_ZN3FooC2Ev", "Foo::Foo()"},
	{"_ZTv0_n24_N3Foo3barEv", "virtual thunk to Foo::bar()"},
	/* Rust, legacy: the hash is left out */
	{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	 "3bar17h930b740aa94f1d3aE",
	 "<Test + 'static as foo::Bar<Test>>::bar"},
	{"_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$7reserve17h5e0bc9e9ea23bc2fE",
	 "alloc::raw_vec::RawVec<T,A>::reserve"},
	/* Rust, v0 (RFC 2603) */
	{"_RNvC6_123foo3bar", "123foo::bar"},
	{"_RNvCs1234_7mycrate4main", "mycrate::main"},
	{"_RNvMNtC7mycrate3fooNtB2_3Bar3new", "<mycrate::foo::Bar>::new"},
	{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
	{"_RNCNvC7mycrate4main0", "mycrate::main::{closure#0}"},
	{"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_"
	 "4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	 "<core::slice::Iter<u8> as "
	 "core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>::"
	 "{closure#0}"},
	{"_RNvC6_123foo3bar.llvm.9D1C9369", "123foo::bar"},
	/* D */
	{"_D8demangle4testFZv", "demangle.test()"},
	{"_Dmain", "D main"},
	/* none of these */
	{"main", NULL},
	{"_Zzzz", NULL},
	{"_R", NULL},
	{"_D", NULL},
	{"", NULL},
};

static void demangles(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = symbols_demangle(names[i].mangled);

		if (!names[i].name)
			assert_null(name);
		else if (!name)
			fail_msg("%s is not demangled", names[i].mangled);
		else
			assert_string_equal(name, names[i].name);
		free(name);
	}
}

/* Back references: about 3 KiB that stand for far more than memory holds. */
static void bounds_exploding_names(void **state)
{
	char mangled[4096] = "_Z1fSt4pairI", *name;
	size_t length = strlen(mangled);

	(void)state;
	memcpy(mangled + length, "iiE", 3);
	length += 3;
	for (int i = 0; i < 20; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		length += (size_t)snprintf(mangled + length, sizeof(mangled) - length,
					   "S_IS%c_S%c_E", digits[i], digits[i]);
	}
	name = symbols_demangle(mangled);
	assert_true(!name || strlen(name) < DEMANGLED_MAX);
	free(name);
	name = symbols_demangle("_ZN1aILi99999999999999999999999999999EEEv");
	assert_true(!name || strlen(name) < DEMANGLED_MAX);
	free(name);
}

/* As deep as a name can nest. */
static void survives_deep_names(void **state)
{
	static const char *const parts[] = {"P", "F",  "PF", "N", "I", "K", "X", "XX",
					    "T", "Dp", "A_", "M", "Z", "L", "cv"};
	char mangled[9000];

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (unsigned start = 0; start < 2; start++) {
			size_t part = strlen(parts[i]), at = 4, most = 8100;

			memcpy(mangled, start ? "_ZN1" : "_Z1f", 4);
			for (; at + part < most; at += part)
				memcpy(mangled + at, parts[i], part);
			memcpy(mangled + at, "iE", 3);
			free(symbols_demangle(mangled));
		}
}

static void cuts_long_names(void **state)
{
	char mangled[6100], *name;
	int at = snprintf(mangled, sizeof(mangled), "_ZN5000");

	(void)state;
	memset(mangled + at, 'x', 5000);
	memcpy(mangled + at + 5000, "1yEv", 5);
	name = symbols_demangle(mangled);
	assert_non_null(name);
	assert_true(strlen(name) < DEMANGLED_MAX);
	assert_string_equal(name + strlen(name) - 3, "...");
	free(name);
}

static void normalises_paths(void **state)
{
	static const struct {
		const char *folder, *file, *path;
	} paths[] = {
		{"/build/x", "a.c", "/build/x/a.c"},
		{"/build/x", "../y/./a.c", "/build/y/a.c"},
		{"/build/x", "/usr//include/a.h", "/usr/include/a.h"},
		{"/b", "../../../a.c", "/a.c"},
		{NULL, "./src/a.c", "src/a.c"},
		{NULL, "../a.c", "../a.c"},
		{NULL, "../../a.c", "../../a.c"},
		{"rel", "../../a.c", "../a.c"},
		{"", "a.c", "a.c"},
		{"/", "a.c", "/a.c"},
	};
	char out[SOURCE_PATH_MAX], longest[3 * SOURCE_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		size_t length = source_path(out, paths[i].folder, paths[i].file);

		assert_string_equal(out, paths[i].path);
		assert_int_equal(length, strlen(paths[i].path));
	}
	for (size_t i = 0; i < sizeof(longest) - 1; i++)
		longest[i] = i % 10 ? 'x' : '/';
	memcpy(longest + sizeof(longest) - 8, "/last.c", 8);
	assert_true(source_path(out, longest, longest) < SOURCE_PATH_MAX);
	assert_string_equal(out + strlen(out) - 7, "/last.c");
	assert_true(source_path(out, longest, "a.c") < SOURCE_PATH_MAX);
}

static void interns(void **state)
{
	struct strings s = {0};
	char text[32];

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 5000; i++) {
			int length = snprintf(text, sizeof(text), "name %u", i);

			assert_int_equal(strings_put(&s, text, (size_t)length), i + 1);
		}
	assert_string_equal(strings_at(&s, 4321), "name 4320");
	assert_null(strings_at(&s, 0));
	assert_null(strings_at(&s, 5001));
	assert_int_equal(strings_put(&s, NULL, 3), 0);
	strings_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangles),	       cmocka_unit_test(bounds_exploding_names),
		cmocka_unit_test(survives_deep_names), cmocka_unit_test(cuts_long_names),
		cmocka_unit_test(normalises_paths),    cmocka_unit_test(interns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
