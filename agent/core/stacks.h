#pragma once
/*
 * The stack table: a tree of all stacks that were seen. A node is (parent, place); a place is
 * (module, offset). Both are interned, so a stack costs 13 bytes per new node and 13 per new place.
 * The number of its innermost node stands for the stack.
 *
 *   node 1 = (0, main)    node 2 = (1, parse)    node 3 = (2, malloc's caller)    event.stack = 3
 *
 * The memory is fixed, so the table is a cache of definitions. When it has no room for a stack, a
 * new generation begins: the table forgets all nodes except those on the current stacks of threads,
 * and a forgotten node that appears again is defined under a new number. Numbers in the protocol
 * only grow (`base` + index). In the table a node is its index, which stays small.
 *
 *   generation 1: numbers 1 to 9    generation 2: base 9; kept nodes are 10, 11, new ones 12, 13...
 *
 * A generation begins between two batches. So all numbers that a batch uses belong to one
 * generation, and are defined in that batch or before it.
 *
 * If threads hold so many nodes that a new generation is not worth it, the table keeps outer frames
 * and cuts the rest under a node FRAME_TABLE_FULL. A sixteenth of the nodes is reserved for those
 * cuts. When the reserve is used up, too, the outer node itself stands for the stack.
 *
 * Nodes that follow each other in a stack and are new get consecutive numbers. So the child of a
 * node is often the node after it. This is tried first, and such a child is not in the index: deep
 * stacks that have little in common cost neither a search nor a cache miss per frame.
 *
 * The index of all other nodes is a hash table in which the parent's number chooses the cache line.
 * New stacks look up nodes near those that they have just looked up. With a compiler, two of three
 * events have new stacks.
 *
 * A direct-mapped cache answers (parent, program counter, epoch) -> node, which most events ask. A
 * second one answers (program counter, epoch) -> place. The code that changes the modules must
 * clear both (stacks_cache_clear). The first cache takes about a seventh of the memory: with 16,384
 * slots instead of 4,096, an event of cc1plus costs the agent a fifth less, and more slots gain
 * little.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/stack_columns.h"

struct stacks {
	size_t size;	 /* of the memory, which begins with `cache` */
	uint64_t *place; /* module << 48 | offset; indices start at 1 */
	uint32_t *place_index;
	struct stacks_node {
		uint32_t parent;
		uint32_t place;
	} * node; /* indices start at 1 */
	/* An entry is a node and, above the bits of `node_mask`, a part of its hash. So a search
	 * passes over most other nodes without reading them. */
	uint32_t *node_index;
	uint32_t node_mask;
	uint32_t lines_a_node; /* index lines per node, times 2^32: locates a parent's line */
	struct stacks_cached {
		uint64_t key; /* program counter, and the epoch above it */
		uint32_t parent;
		uint32_t node;
	} * cache;
	struct stacks_located {
		uint64_t key;
		uint64_t place;
	} * located;
	/* 64 - log2 of the slots of `cache`. `located` has a quarter as many slots. */
	uint32_t cache_shift;
	uint32_t places, places_max, places_slots;
	uint32_t nodes, nodes_max, nodes_slots;
	uint32_t cut_place;   /* the place of FRAME_TABLE_FULL */
	bool has_cut;	      /* some node has `cut_place` */
	uint32_t sent;	      /* closed batches have defined the nodes up to this one */
	uint32_t base;	      /* how many numbers earlier generations used */
	uint32_t generations; /* generations after the first */
};

#define STACKS_MODULE_MAX 0xffff
#define STACKS_NUMBER_MAX (1u << 28)
#define STACKS_OFFSET_MAX ((UINT64_C(1) << 48) - 1)

/* Uses `size` bytes (at least 16 KiB) at `memory`, which the caller owns. They need not be
 * zeroed. */
void stacks_init(struct stacks *stacks, void *memory, size_t size);
/* Moves the table to other, larger memory. The caller owns both. */
void stacks_move(struct stacks *stacks, void *memory, size_t size);
/* Returns the place's number, and adds the place if it is new. Returns 0 if the table is full. */
uint32_t stacks_place(struct stacks *stacks, uint32_t module, uint64_t offset);
/* Returns the node below `parent` (0: outermost) and adds it if it is new. If the table is full or
 * `place` is 0, returns the cut node or `parent` itself. */
uint32_t stacks_below(struct stacks *stacks, uint32_t parent, uint32_t place);
static inline uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t module,
				    uint64_t offset)
{
	return stacks_below(s, parent, stacks_place(s, module, offset));
}
/* Returns the number of nodes that stacks may take. The rest is reserved for cuts. */
static inline uint32_t stacks_limit(const struct stacks *s)
{
	return s->nodes_max - s->nodes_max / 16;
}
/* Returns the node after `parent` if that is its child with this place, or can become it; else
 * 0. */
static inline uint32_t stacks_next(struct stacks *s, uint32_t parent, uint32_t place)
{
	uint32_t next = parent + 1;

	if (next <= s->nodes)
		return s->node[next].parent == parent && s->node[next].place == place ? next : 0;
	if (!place || s->has_cut || s->nodes >= stacks_limit(s))
		return 0;
	s->node[s->nodes = next] = (struct stacks_node){.parent = parent, .place = place};
	return next;
}
/* Returns true if frames below this node were cut. */
static inline bool stacks_is_cut(const struct stacks *s, uint32_t node)
{
	return s->has_cut && node && s->node[node].place == s->cut_place;
}
/* Returns the node's number in the protocol; 0 for 0. */
static inline uint32_t stacks_number(const struct stacks *s, uint32_t node)
{
	return node ? s->base + node : 0;
}
/* Gets the definition of the node with this number. Returns false if the table has forgotten it;
 * the definition then is FRAME_FORGOTTEN. */
bool stacks_get(const struct stacks *stacks, uint32_t number, struct stack_node *ret_node);
/* Returns true if a stack with `frames` new frames certainly has room. */
static inline bool stacks_has_room(const struct stacks *s, uint32_t frames)
{
	return s->nodes + frames <= stacks_limit(s) && s->nodes < stacks_limit(s) &&
	       s->places + frames <= s->places_max;
}

/* The nodes of a thread's current stack, from the outermost frame on. */
struct stacks_path {
	uint32_t *node;
	uint32_t depth;
	uint32_t most : 31; /* capacity of `node` */
	/* The last stack that took the slow path ended in FRAME_DEPTH_LIMIT. */
	uint32_t cut : 1;
};

/* Begins a new generation with only the nodes of these paths and of `more`, in which 0 is no node,
 * and updates them to the new indices. Returns false and changes nothing if more than half of the
 * table would stay, or if numbers run out. */
bool stacks_renew(struct stacks *stacks, struct stacks_path *path, uint32_t paths,
		  struct stacks_path *more);

/*
 * Returns the slot for the answer to (parent, key). `trail` identifies the path to the parent:
 * begin with stacks_trail of the node at which an event's new frames start, and pass what this
 * function makes of it, frame by frame. So the slot of a frame does not depend on the answer for
 * the frame before. (`cache` and `shift` are the table's, which the caller keeps in registers.)
 */
static inline struct stacks_cached *stacks_cached(struct stacks_cached *cache, uint32_t shift,
						  uint64_t *trail, uint64_t key)
{
	*trail = (*trail ^ key) * UINT64_C(0x9e3779b97f4a7c15);
	return &cache[*trail >> shift];
}

static inline uint64_t stacks_trail(uint32_t parent)
{
	return (uint64_t)parent << 32 ^ parent;
}

/* Returns the slot in the second cache, which depends on the key alone. */
static inline struct stacks_located *stacks_located(const struct stacks *s, uint64_t key)
{
	return &s->located[key * UINT64_C(0x9e3779b97f4a7c15) >> (s->cache_shift + 2)];
}

/* Clears both caches. Call it after each change of the modules. */
void stacks_cache_clear(struct stacks *stacks);
