#pragma once
/* Which functions only pass allocations on, so that the call site is further out. The rules are a
 * table in sites.c. */
#include <stdbool.h>

struct site_rules;

/* `function` demangled, as in a backtrace; `rules` may be NULL: only those of the table. */
bool site_is_allocator(const struct site_rules *rules, const char *function);
