#pragma once
/* Numbers the groups that the stacks of a recording belong to. */
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

struct parted {
	uint32_t *of_node; /* by node: number of its group, from 1; 0: no block has this stack */
	uint32_t *example; /* by group, from 0: one of its nodes */
	uint32_t nodes, groups;
};

/* Takes the nodes of `sums`. Groups are numbered in the order of their first nodes there. Returns 0
 * or -ENOMEM; call parted_done in either case. */
int parted_init(struct parted *parted, const struct view *view, const struct hiding *hiding,
		const struct node_sums *sums, enum grouping grouping);
void parted_done(struct parted *parted);
