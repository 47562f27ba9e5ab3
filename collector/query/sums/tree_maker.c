/* Makes trees of frames. See tree_maker.h. */
#include "collector/query/sums/tree_maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#include "base/ban.h"

static long add_node(struct tree_maker *maker)
{
	struct tree *tree = &maker->tree;

	if (array_reserve(&tree->nodes, &maker->capacity, (uint64_t)tree->count + 1,
			  sizeof(*tree->nodes)) < 0)
		return -ENOMEM;
	tree->nodes[tree->count] = (struct tree_node){.first_ns = UINT64_MAX};
	return (long)tree->count++;
}

int tree_maker_init(struct tree_maker *maker)
{
	*maker = (struct tree_maker){0};
	return add_node(maker) < 0 ? -ENOMEM : 0;
}

void tree_maker_done(struct tree_maker *maker)
{
	tree_done(&maker->tree);
	map_done(&maker->children);
}

long tree_maker_child(struct tree_maker *maker, uint32_t parent, uint32_t label,
		      const struct tree_node *like)
{
	uint64_t *index = map_put(&maker->children, (uint64_t)parent << 32 | label, NULL);
	struct tree_node *node;
	long made;

	if (!index)
		return -ENOMEM;
	if (*index)
		return (long)*index;
	made = add_node(maker);
	if (made < 0)
		return made;
	*index = (uint64_t)made;
	node = &maker->tree.nodes[made];
	node->function = like->function;
	node->module = like->module;
	node->file = like->file;
	node->line = like->line;
	node->node = like->node;
	node->frame = like->frame;
	node->is_inline = like->is_inline;
	node->next_sibling = maker->tree.nodes[parent].first_child;
	maker->tree.nodes[parent].first_child = (uint32_t)made;
	return made;
}

uint32_t *tree_parents(const struct tree *tree)
{
	uint32_t *parents = calloc(tree->count + 1, sizeof(*parents));

	for (size_t i = 0; parents && i < tree->count; i++)
		for (uint32_t c = tree->nodes[i].first_child; c; c = tree->nodes[c].next_sibling)
			parents[c] = (uint32_t)i;
	return parents;
}

static int tree_maker_heaviest_first(const void *a, const void *b, void *context)
{
	const struct tree_node *nodes = context, *x = &nodes[*(const uint32_t *)a],
			       *y = &nodes[*(const uint32_t *)b];

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return strcmp(x->function, y->function);
}

int tree_sort(struct tree *tree)
{
	cleanup(cleanup_free) uint32_t *list = calloc(tree->count, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t count = 0;

		for (uint32_t c = tree->nodes[i].first_child; c; c = tree->nodes[c].next_sibling)
			list[count++] = c;
		qsort_r(list, count, sizeof(*list), tree_maker_heaviest_first, tree->nodes);
		for (uint32_t c = 0; c < count; c++)
			tree->nodes[list[c]].next_sibling = c + 1 < count ? list[c + 1] : 0;
		tree->nodes[i].first_child = count ? list[0] : 0;
	}
	return 0;
}
