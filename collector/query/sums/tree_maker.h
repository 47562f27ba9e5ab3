#pragma once
/*
 * Trees of frames that are made of other trees: a child is found by its parent and a *label*, a
 * number that the maker's user gives to frames that are the same. Parents come before their
 * children in the array.
 */
#include <stdint.h>

#include "base/map.h"
#include "collector/query/query.h"

struct tree_maker {
	struct tree tree;
	uint32_t capacity;
	struct map children; /* parent << 32 | label -> index */
};

/* Makes the root. 0 or -ENOMEM; tree_maker_done in either case. */
int tree_maker_init(struct tree_maker *maker);
void tree_maker_done(struct tree_maker *maker);
/* The child of that label; made with the texts of `like` and without numbers if there is none. An
 * index, or -ENOMEM. */
long tree_maker_child(struct tree_maker *maker, uint32_t parent, uint32_t label,
		      const struct tree_node *like);
/* Parents by index. NULL: no memory. Free it. */
uint32_t *tree_parents(const struct tree *tree);
/* Puts children in order: heaviest first. 0 or -ENOMEM. */
int tree_sort(struct tree *tree);
