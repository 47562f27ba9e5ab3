#pragma once
/* Programs that are built with a sanitizer bring an allocator of their own, which must come first:
 * nothing can be preloaded. */
#include <stdbool.h>
#include <stddef.h>

/* Looks into an open ELF file of our own class and byte order. The sanitizer's option as a static
 * string ("-fsanitize=address"), and what gave it away (a library or a symbol) in `ret_proof`;
 * NULL: there is none, or the file has no section table to see it by. The undefined behaviour
 * sanitizer does not count: it leaves the allocator alone. */
const char *sanitizer_of(int fd, char *ret_proof, size_t size);
