#pragma once
/* Walks through a tree of frames, parents before children, without recursion. The walk does not
 * yield the root. */
#include <stdint.h>

struct tree;

struct walk {
	const struct tree *tree;
	uint32_t *stack;  /* stack[depth]: the node at that depth */
	uint32_t depth;	  /* depth of the node that walk_next returned; children of the root: 1 */
	uint32_t deepest; /* depth of the tree */
};

/* Returns 0 or -ENOMEM; call walk_done in either case. */
int walk_init(struct walk *walk, const struct tree *tree);
void walk_done(struct walk *walk);
/* Returns the next node, or 0 at the end. */
uint32_t walk_next(struct walk *walk);
/* Skips the subtree of the current node. Returns the next node, or 0 at the end. */
uint32_t walk_over(struct walk *walk);
