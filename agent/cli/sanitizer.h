#pragma once
/* Detects programs that were built with a sanitizer. They contain their own allocator, which must
 * be loaded first, so nothing can be preloaded into them. */
#include <stdbool.h>
#include <stddef.h>

/* Examines an open ELF file of our own class and byte order. Returns the sanitizer's compiler
 * option as a static string ("-fsanitize=address"), and in `ret_proof` the library or symbol that
 * reveals it. Returns NULL if the program has no sanitizer, or no section table to tell. The
 * undefined behaviour sanitizer does not count: it does not replace the allocator. */
const char *sanitizer_of(int fd, char *ret_proof, size_t size);
