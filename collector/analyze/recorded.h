#pragma once
/* Stacks of a recording for an analysis: those that its collapsed export has, with blocks and with
 * what came of reallocs beside. */
#include <stdbool.h>

#include "collector/query/query.h"

struct analysis;
struct err_text;

/* Adds what matches. `counts`: blocks are the value, not bytes. 0, -ENOMEM, or what query_tree
 * returns. */
int analysis_add_view(struct analysis *analysis, struct view *view, const struct filter *filter,
		      enum value value, uint64_t at_ns, bool counts, struct err_text *err);
