#pragma once
/* Stacks of a recording for an analysis: those that its collapsed export has, with blocks and with what came of reallocs beside. */
#include <stdbool.h>

struct analysis;
struct err_text;
struct tree;

/* `grown`: of the same question, only what a realloc made of others (filter position_min 1). `counts`: blocks are the value, not
 * bytes. 0 or -ENOMEM. */
int analysis_add_trees(struct analysis *analysis, const struct tree *tree, const struct tree *grown, bool counts, struct err_text *err);
