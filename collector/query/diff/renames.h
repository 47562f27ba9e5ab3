#pragma once
/*
 * Finds functions that were probably renamed. For each function that only one of two recordings has
 * and that is a call site, its bytes and blocks are summed by caller. A lost function and a new one
 * are taken for the same if their file and module are equal, nearly all bytes and blocks agree
 * caller by caller, and no other function comes near. A match that could also be another function's
 * is dropped.
 */
#include "collector/query/diff/sides.h"

struct renames_side {
	struct view *view;
	const struct hiding *hiding;
	const struct groups *groups; /* by backtrace */
};
/* Fills in the hints of `diff`. Their texts belong to the views. Returns 0 or -ENOMEM. */
int diff_find_renames(const struct renames_side *base, const struct renames_side *now,
		      const struct diff_names *names, struct diff *diff);
