#pragma once
/* Rules for functions that only pass allocations on, so that the call site is further out. sites.c
 * holds the table. */
#include <stdbool.h>

struct err_text;
struct filter;
struct site_rules;

/* `function` is demangled, as in a backtrace. `rules` may be NULL, which means the table alone. */
bool site_is_allocator(const struct site_rules *rules, const char *function);
/* Reads how `filter` hides: "auto", "rules" or "none"; "yes" and "no", as they were once, are auto
 * and none. `name` stands in the error text. Returns 0 or -EINVAL. */
int hide_parse(const char *word, const char *name, struct filter *filter, struct err_text *err);
