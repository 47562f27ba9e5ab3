#pragma once
/*
 * Builds trees of frames from other trees. A child is found by its parent and a *label*, a number
 * that the caller gives to frames that are the same. Parents come before their children in the
 * array.
 */
#include <stdint.h>

#include "base/map.h"
#include "collector/query/match/view.h"
#include "collector/query/query.h"

struct tree_maker {
	struct tree tree;
	uint32_t capacity;
	struct map children; /* parent << 32 | label -> index */
};

/* Makes the root. Returns 0 or -ENOMEM; call tree_maker_done in either case. */
int tree_maker_init(struct tree_maker *maker);
void tree_maker_done(struct tree_maker *maker);
/* Returns the index of the child with that label, or -ENOMEM. If there is no such child, makes one
 * with the texts of `like` and without numbers. */
long tree_maker_child(struct tree_maker *maker, uint32_t parent, uint32_t label,
		      const struct tree_node *like);
/* Returns the parents by index, or NULL without memory. The caller frees the array. */
uint32_t *tree_parents(const struct tree *tree);
/* Does the same as query_tree, with `hiding` given separately. The view must be prepared. */
int tree_of(struct view *view, const struct hiding *hiding, const struct filter *filter,
	    enum value value, uint64_t at_ns, struct tree *ret_tree, struct err_text *err);
/* Sorts children, heaviest first. Returns 0 or -ENOMEM. */
int tree_sort(struct tree *tree);
