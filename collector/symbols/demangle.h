#pragma once
/* Demangling into a buffer of the caller. symbols_demangle (symbols.h) is the same with memory of
 * its own. */
#include <stdbool.h>

/* Bytes of a name with its NUL; longer ones are cut and end in "...". */
#define DEMANGLED_MAX 4096

/* False, and `to` undefined, if `name` is no mangled name of a language that we know. */
bool demangle_into(const char *name, char to[DEMANGLED_MAX]);
