#pragma once
/* Feeds the stacks of a recording to an analysis: the stacks of the collapsed export, with the
 * number of blocks and the part that is due to reallocs. */
#include <stdbool.h>

#include "collector/query/query.h"

struct analysis;
struct err_text;

/* Adds the stacks of the matched blocks. With `counts`, the value is the number of blocks instead
 * of bytes. Returns 0, -ENOMEM, or an error of query_tree. */
int analysis_add_view(struct analysis *analysis, struct view *view, const struct filter *filter,
		      enum value value, uint64_t at_ns, bool counts, struct err_text *err);
/* Returns the name of the shipped rules that suit the program, by its modules and the names of its
 * functions: "clickhouse", "python", "cxx" (C++, Rust, GLib), or else RULES_DEFAULT. */
const char *recorded_rules(struct view *view);
