#pragma once
/* Which functions only pass allocations on, so that the call site is further out. The rules are a table in sites.c. */
#include <stdbool.h>

/* `function` demangled, as in a backtrace. */
bool site_is_allocator(const char *function);
