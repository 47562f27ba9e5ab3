/* The walk. See walk.h. */
#include "collector/answers/walk.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "collector/query/query.h"

#include "base/ban.h"

/* Returns the depth of the tree. Children may come before their parents in the array, so the depth
 * is measured by walking. */
static uint32_t tree_depth(const struct tree *tree, uint32_t *parents)
{
	uint32_t node = 0, depth = 0, deepest = 0;

	for (size_t steps = 0; steps <= 2 * tree->count; steps++) {
		if (tree->nodes[node].first_child) {
			parents[tree->nodes[node].first_child] = node;
			node = tree->nodes[node].first_child;
			deepest = ++depth > deepest ? depth : deepest;
			continue;
		}
		while (node && !tree->nodes[node].next_sibling) {
			node = parents[node];
			depth--;
		}
		if (!node)
			break;
		parents[tree->nodes[node].next_sibling] = parents[node];
		node = tree->nodes[node].next_sibling;
	}
	return deepest;
}

int walk_init(struct walk *walk, const struct tree *tree)
{
	uint32_t *parents = calloc(tree->count + 1, sizeof(*parents));

	*walk = (struct walk){.tree = tree};
	if (!parents)
		return -ENOMEM;
	walk->deepest = tree->count ? tree_depth(tree, parents) : 0;
	free(parents);
	walk->stack = calloc((size_t)walk->deepest + 2, sizeof(*walk->stack));
	return walk->stack ? 0 : -ENOMEM;
}

void walk_done(struct walk *walk)
{
	free(walk->stack);
	walk->stack = NULL;
}

uint32_t walk_over(struct walk *walk)
{
	while (walk->depth) {
		uint32_t next = walk->tree->nodes[walk->stack[walk->depth]].next_sibling;

		if (next)
			return walk->stack[walk->depth] = next;
		walk->depth--;
	}
	return 0;
}

uint32_t walk_next(struct walk *walk)
{
	uint32_t child =
		walk->tree->count ? walk->tree->nodes[walk->stack[walk->depth]].first_child : 0;

	if (!child)
		return walk_over(walk);
	walk->stack[++walk->depth] = child;
	return child;
}
