#pragma once
/*
 * The stack table: every stack that was seen, as a tree. A node is (parent, place); a place is (module, offset). Both are
 * interned, so a stack costs 13 bytes a new node and 13 a new place, and its innermost node's number stands for it.
 *
 *   node 1 = (0, main)     node 2 = (1, parse)     node 3 = (2, malloc's caller)     event.stack = 3
 *
 * The memory is fixed, so the table is a cache of definitions. When it has no room for a stack, a new generation begins:
 * all nodes are forgotten but those that threads stand on, and what comes again is defined again under a new number. Numbers
 * on the wire go on for ever (`base` + index); in here a node is its index, which fits the table.
 *
 *   generation 1: numbers 1 to 9      generation 2: base 9; held nodes are 10, 11, new ones 12, 13...
 *
 * A generation begins between two batches: all numbers that a batch uses are of one generation, defined in it or before.
 *
 * If threads hold too much for a new generation to be worth it, outer frames are kept and the rest is cut under a node
 * FRAME_TABLE_FULL; a sixteenth of the nodes is set aside for those, and when these are gone too, the outer node itself stands
 * for the stack.
 *
 * A small direct-mapped cache answers (parent, program counter, epoch) -> node, which is what most events ask. Whoever changes
 * the modules clears it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/columns.h"

struct stacks {
	size_t size;		/* of the memory, which begins with `cache` */
	uint64_t *place;	/* module << 48 | offset; from 1 */
	uint32_t *place_index;
	struct stacks_node {
		uint32_t parent;
		uint32_t place;
	} *node;		/* from 1 */
	uint32_t *node_index;
	struct stacks_cached {
		uint64_t key; /* program counter, and the epoch above it */
		uint32_t parent;
		uint32_t node;
	} *cache;
	uint32_t places, places_max, places_slots;
	uint32_t nodes, nodes_max, nodes_slots;
	uint32_t cut_place;	/* of FRAME_TABLE_FULL */
	uint32_t sent;		/* nodes up to this one were defined in closed batches */
	uint32_t base;		/* numbers that earlier generations have used */
	uint32_t generations;	/* begun after the first */
};

#define STACKS_MODULE_MAX 0xffff
#define STACKS_NUMBER_MAX (1u << 28)
#define STACKS_OFFSET_MAX ((UINT64_C(1) << 48) - 1)

/* `memory` (zeroed or not, `size` bytes, at least 64 KiB) stays the caller's. */
void stacks_init(struct stacks *stacks, void *memory, size_t size);
/* The node below `parent` (0: outermost), made if it is new. When the table is full: the cut node, or `parent` itself. */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint32_t module, uint64_t offset);
/* True if frames were left out below this node. */
bool stacks_is_cut(const struct stacks *stacks, uint32_t node);
/* What stands for the node on the wire; 0 for 0. */
static inline uint32_t stacks_number(const struct stacks *s, uint32_t node)
{
	return node ? s->base + node : 0;
}
/* The definition of the node with this number. True; false: it was forgotten, and says so (FRAME_FORGOTTEN). */
bool stacks_get(const struct stacks *stacks, uint32_t number, struct stack_node *ret_node);
/* True if a stack of `frames` new frames is sure to find room. */
bool stacks_has_room(const struct stacks *stacks, uint32_t frames);


/* Nodes from the outermost frame on, that someone stands on. */
struct stacks_path {
	uint32_t *node;
	uint32_t depth;
};

/* Begins a new generation, in which there are only the nodes of these paths; the paths name them by their new index. False,
 * and nothing has changed: more than half of the table would stay, or numbers run out. */
bool stacks_renew(struct stacks *stacks, struct stacks_path *path, uint32_t paths);

#define STACKS_CACHE_SLOTS 4096

static inline struct stacks_cached *stacks_cached(const struct stacks *s, uint32_t parent, uint64_t key)
{
	uint64_t hash = (key ^ (uint64_t)parent << 32 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);

	return &s->cache[hash >> 52];
}

void stacks_cache_clear(struct stacks *stacks);
