#pragma once
/* Through a tree of frames, parents before children, without recursion. The root itself is left
 * out. */
#include <stdint.h>

struct tree;

struct walk {
	const struct tree *tree;
	uint32_t *stack;  /* stack[depth]: the node at that depth */
	uint32_t depth;	  /* of the node that walk_next gave: 1 for children of the root */
	uint32_t deepest; /* depth of the tree */
};

/* 0 or -ENOMEM; walk_done in either case. */
int walk_init(struct walk *walk, const struct tree *tree);
void walk_done(struct walk *walk);
/* The next node; 0: that was all. */
uint32_t walk_next(struct walk *walk);
/* The next node that is not below this one; 0: there is none. */
uint32_t walk_over(struct walk *walk);
