#pragma once
/*
 * Shortens names of functions for reading. Template arguments and parameters are left out, so that
 * the function itself is always visible.
 *
 *	std::vector<int, std::allocator<int> >::push_back(int const&)    std::vector<...>::push_back
 *	<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop           <Vec<...> as Drop>::drop
 *	main::{lambda(int)#1}::operator()(int) const main::{lambda#1}::operator()
 */
#include <stddef.h>

/*
 * Writes the short form of a demangled C++ or Rust name to `out`, at most `size` bytes with the
 * NUL; the rest is cut off. The short form is never longer than the name. A name with nothing to
 * leave out, or with brackets that do not match, is copied unchanged. Returns the length.
 */
size_t fold_name(char *out, size_t size, const char *name);
/* Does the same, but keeps template arguments that take at most `kept` bytes with their
 * brackets. */
size_t fold_long_name(char *out, size_t size, const char *name, size_t kept);
