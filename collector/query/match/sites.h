#pragma once
/* Rules for functions that only pass allocations on, so that the call site is further out. sites.c
 * holds the table. */
#include <stdbool.h>

struct site_rules;

/* `function` is demangled, as in a backtrace. `rules` may be NULL, which means the table alone. */
bool site_is_allocator(const struct site_rules *rules, const char *function);
