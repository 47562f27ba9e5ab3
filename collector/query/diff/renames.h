#pragma once
/*
 * Functions that look renamed. Of each function that only one of two recordings has, and that is a
 * call site, the bytes and blocks are known by caller. A function that went and one that came are
 * the same under another name if file and module are the same, if nearly all bytes and blocks agree
 * caller by caller, and if no other function comes near: a guess that could be another's is none.
 */
#include "collector/query/diff/sides.h"

struct renames_side {
	struct view *view;
	const struct hiding *hiding;
	const struct groups *groups; /* by backtrace */
};
/* Fills the hints of `diff`. Their texts are the views'. Returns 0 or -ENOMEM. */
int diff_find_renames(const struct renames_side *base, const struct renames_side *now,
		      const struct diff_names *names, struct diff *diff);
