/* The call tree of a recording. nodes.h describes it. */
#include "collector/recording/nodes.h"
#include "proto/stack_columns.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ban.h"

void nodes_done(struct nodes *n)
{
	free(n->list);
	free(n->by_wire);
	map_done(&n->index);
	*n = (struct nodes){0};
}

/* The finalizer of SplitMix64 over the three members. */
static uint64_t nodes_hash(const struct stack_node *node)
{
	uint64_t h = node->offset * 0x9e3779b97f4a7c15ull +
		     ((uint64_t)node->parent << 32 | node->module);

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	h ^= h >> 31;
	return h == MAP_NO_KEY ? 0 : h;
}

static bool equal(const struct stack_node *a, const struct stack_node *b)
{
	return a->parent == b->parent && a->module == b->module && a->offset == b->offset;
}

static int nodes_grow(void **array, uint32_t *capacity, uint32_t count, size_t size)
{
	uint32_t wanted = *capacity ? *capacity * 2 : 1024;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

uint32_t nodes_intern(struct nodes *n, const struct stack_node *node)
{
	for (uint64_t key = nodes_hash(node);; key = key + 1 == MAP_NO_KEY ? 0 : key + 1) {
		bool is_new;
		uint64_t *number = map_put(&n->index, key, &is_new);

		if (!number)
			return 0;
		if (is_new &&
		    nodes_grow((void **)&n->list, &n->capacity, n->count, sizeof(*n->list)) < 0) {
			map_remove(&n->index, key, NULL);
			return 0;
		}
		if (is_new) {
			n->list[n->count++] = *node;
			*number = n->count;
		}
		if (is_new || equal(&n->list[*number - 1], node))
			return (uint32_t)*number;
	}
}

void nodes_renew(struct nodes *n)
{
	n->wire_count = 0;
}

/* Indexes nodes that were read from a saved state. */
static int index_all(struct nodes *n)
{
	if (!map_reserve(&n->index, n->count))
		return -ENOMEM;
	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t key = nodes_hash(&n->list[i]), *number;
		bool is_new = false;

		while ((number = map_put(&n->index, key, &is_new)) && !is_new)
			key = key + 1 == MAP_NO_KEY ? 0 : key + 1;
		if (!number)
			return -ENOMEM;
		*number = i + 1;
	}
	return 0;
}

int nodes_define(struct nodes *n, struct stack_node node)
{
	uint32_t number;

	if (n->wire_count == NODES_MAX)
		return -EBADMSG;
	if (!n->index.count && n->count && index_all(n) < 0)
		return -ENOMEM;
	if (node.parent) {
		node.parent = nodes_of_wire(n, node.parent);
		if (!node.parent)
			return -EBADMSG;
	}
	if (nodes_grow((void **)&n->by_wire, &n->wire_capacity, n->wire_count,
		       sizeof(*n->by_wire)) < 0)
		return -ENOMEM;
	number = nodes_intern(n, &node);
	if (!number)
		return -ENOMEM;
	n->by_wire[n->wire_count++] = number;
	return 0;
}
