#pragma once
/* Demangles into a caller's buffer. symbols_demangle (symbols.h) allocates the result instead. */
#include <stdbool.h>

/* Bytes of a name with its NUL. Longer names are cut and end in "...". */
#define DEMANGLED_MAX 4096

/* Returns false, and `to` is undefined, if `name` is not a mangled name of a known language. */
bool demangle_into(const char *name, char to[DEMANGLED_MAX]);
