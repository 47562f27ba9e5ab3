#pragma once
/*
 * Names of functions, short enough to be read: what stands in template arguments and parameters is
 * left out, so that the function itself is always seen.
 *
 *	std::vector<int, std::allocator<int> >::push_back(int const&)    std::vector<...>::push_back
 *	<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop           <Vec<...> as Drop>::drop
 *	main::{lambda(int)#1}::operator()(int) const main::{lambda#1}::operator()
 */
#include <stddef.h>

/*
 * Writes the short form of a demangled name of C++ or Rust to `out`, at most `size` bytes with the
 * NUL; what does not fit is cut off. It is never longer than the name. A name without anything to
 * leave out, and one whose brackets do not match, is copied as it is. Returns the length.
 */
size_t fold_name(char *out, size_t size, const char *name);
/* The same, but template arguments stay that take at most `kept` bytes with their brackets. */
size_t fold_long_name(char *out, size_t size, const char *name, size_t kept);
