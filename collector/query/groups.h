#pragma once
/* Groups made of sums by node. */
#include "collector/query/node_sums.h"
#include "collector/query/view.h"

/* Groups of what `value` counts; what was in use at a moment is among `alive` (sums of that only), if it is not NULL, else in `nodes`.
 * 0 or -ENOMEM; groups_done in either case. */
int groups_of(struct view *view, const struct node_sums *nodes, const struct node_sums *alive,
	      enum grouping grouping, enum value value, uint64_t at_ns, struct groups *ret_groups);
