/*
 * Rules for functions that only pass an allocation on: the C library's own, operator new and the innards of the C++ and Rust
 * standard libraries. A call site is the innermost frame that is none of them. Rules compare the demangled name after
 * its return type, if it has one ("void* std::..." is looked at from "std::").
 */
#include "collector/query/sites.h"

#include <string.h>

#include "base/ban.h"

enum rule_kind { WHOLE, PREFIX, PART };

static const struct {
	enum rule_kind kind;
	const char *text;
} rules[] = {
	/* The C library and the hooks of the recording library. */
	{WHOLE, "malloc"},
	{WHOLE, "calloc"},
	{WHOLE, "realloc"},
	{WHOLE, "reallocarray"},
	{WHOLE, "free"},
	{WHOLE, "posix_memalign"},
	{WHOLE, "aligned_alloc"},
	{WHOLE, "memalign"},
	{WHOLE, "valloc"},
	{WHOLE, "pvalloc"},
	{WHOLE, "strdup"},
	{WHOLE, "__strdup"},
	{WHOLE, "strndup"},
	{WHOLE, "__strndup"},
	{PREFIX, "__libc_malloc"},
	{PREFIX, "__GI___libc_"},
	{PREFIX, "__interceptor_"},
	/* C++ */
	{PREFIX, "operator new"},
	{PREFIX, "operator delete"},
	{PREFIX, "__gnu_cxx::"},
	{PREFIX, "std::allocator"},
	{PREFIX, "std::__new_allocator"},
	{PREFIX, "std::__allocate_guarded"},
	{PREFIX, "std::_Vector_base<"},
	{PREFIX, "std::vector<"},
	{PREFIX, "std::_Deque_base<"},
	{PREFIX, "std::deque<"},
	{PREFIX, "std::_Rb_tree<"},
	{PREFIX, "std::map<"},
	{PREFIX, "std::multimap<"},
	{PREFIX, "std::set<"},
	{PREFIX, "std::multiset<"},
	{PREFIX, "std::_Hashtable<"},
	{PREFIX, "std::__detail::"},
	{PREFIX, "std::unordered_"},
	{PREFIX, "std::_List_base<"},
	{PREFIX, "std::__cxx11::_List_base<"},
	{PREFIX, "std::__cxx11::list<"},
	{PREFIX, "std::__cxx11::basic_string<"},
	{PREFIX, "std::basic_string<"},
	{PREFIX, "std::string::"},
	{PREFIX, "std::__shared_"},
	{PREFIX, "std::shared_ptr<"},
	{PREFIX, "std::make_shared<"},
	{PREFIX, "std::allocate_shared<"},
	{PREFIX, "std::make_unique<"},
	{PREFIX, "std::__uninitialized_"},
	{PREFIX, "std::_Function_base"},
	{PREFIX, "std::function<"},
	{PREFIX, "std::pmr::"},
	{PREFIX, "std::__1::__libcpp_"},
	{PREFIX, "std::__1::allocator"},
	{PREFIX, "std::__1::vector<"},
	{PREFIX, "std::__1::basic_string<"},
	{PREFIX, "std::__1::__tree<"},
	{PREFIX, "std::__1::__hash_table<"},
	/* Rust */
	{PREFIX, "__rust_"},
	{PREFIX, "__rdl_"},
	{PREFIX, "alloc::alloc::"},
	{PREFIX, "alloc::raw_vec::"},
	{PREFIX, "alloc::vec::"},
	{PREFIX, "alloc::boxed::"},
	{PREFIX, "alloc::string::"},
	{PREFIX, "alloc::slice::"},
	{PREFIX, "<alloc::"},
	{PREFIX, "hashbrown::raw::"},
	{PART, " as core::alloc::global::GlobalAlloc>::"},
	{PART, " as core::alloc::Allocator>::"},
};

/* Where the name begins behind a return type: after the last blank outside of brackets, but not within "operator new". */
static const char *after_return_type(const char *function)
{
	const char *start = function;
	int depth = 0;

	if (!strncmp(function, "operator ", 9))
		return function;
	for (const char *p = function; *p; p++) {
		if (*p == '(' && !depth)
			break;
		if (*p == '<' || *p == '(' || *p == '{' || *p == '[')
			depth++;
		else if (*p == '>' || *p == ')' || *p == '}' || *p == ']')
			depth--;
		else if (*p == ' ' && !depth) {
			start = p + 1;
			if (!strncmp(start, "operator ", 9))
				break;
		}
	}
	return start;
}

bool site_is_allocator(const char *function)
{
	const char *name = after_return_type(function);

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const char *text = rules[i].text;

		switch (rules[i].kind) {
		case WHOLE:
			if (!strcmp(name, text))
				return true;
			break;
		case PREFIX:
			if (!strncmp(name, text, strlen(text)) ||
			    !strncmp(function, text, strlen(text)))
				return true;
			break;
		case PART:
			if (strstr(function, text))
				return true;
			break;
		}
	}
	return false;
}
