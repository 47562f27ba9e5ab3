#pragma once
/* Makes groups from sums by node, and defines which backtraces belong to one group. */
#include "base/intern.h"
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

/* The tables that number the groups of call sites, functions or modules. */
struct group_keys {
	enum grouping grouping;
	struct intern files, keys; /* numbers of functions */
};
void group_keys_done(struct group_keys *keys);
/* Returns the number of the group of a backtrace whose call site is this frame, or 0 without
 * memory. Equal groups have equal numbers. Not for GROUP_BY_BACKTRACE. */
uint32_t group_key(struct group_keys *keys, const struct view *view, const struct frame *site);

struct groups_question {
	enum grouping grouping;
	enum value value;
	uint64_t at_ns;
	const struct filter *filter; /* says what is hidden */
	struct hiding hiding;	     /* what the filter hides */
};
/* Makes the groups of what `value` counts. If `alive` is not NULL, it holds the sums of what was in
 * use at the moment, and only these; else they are in `nodes`. Returns 0 or -ENOMEM; call
 * groups_done in either case. */
int groups_of(struct view *view, const struct groups_question *question,
	      const struct node_sums *nodes, const struct node_sums *alive,
	      struct groups *ret_groups);
