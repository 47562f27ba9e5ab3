#pragma once
/* Groups made of sums by node, and what makes backtraces one group. */
#include "base/intern.h"
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

/* What the groups of call sites, functions or modules are told apart by. */
struct group_keys {
	enum grouping grouping;
	struct intern files, keys; /* of functions */
};
void group_keys_done(struct group_keys *keys);
/* A number of the group of a backtrace whose call site is this frame, the same for all of it; 0: no
 * memory. Not of GROUP_BY_BACKTRACE. */
uint32_t group_key(struct group_keys *keys, const struct view *view, const struct frame *site);

/* Groups of what `value` counts; what was in use at a moment is among `alive` (sums of that only),
 * if it is not NULL, else in `nodes`. 0 or -ENOMEM; groups_done in either case. */
int groups_of(struct view *view, const struct node_sums *nodes, const struct node_sums *alive,
	      enum grouping grouping, enum value value, uint64_t at_ns, struct groups *ret_groups);
