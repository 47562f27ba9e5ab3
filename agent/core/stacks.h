#pragma once
/*
 * The stack table: every stack that was seen, as a tree. A node is (parent, place); a place is
 * (module, offset). Both are interned, so a stack costs 13 bytes a new node and 13 a new place, and
 * its innermost node's number stands for it.
 *
 *   node 1 = (0, main)     node 2 = (1, parse) node 3 = (2, malloc's caller) event.stack = 3
 *
 * The memory is fixed, so the table is a cache of definitions. When it has no room for a stack, a
 * new generation begins: all nodes are forgotten but those that threads stand on, and what comes
 * again is defined again under a new number. Numbers on the wire go on for ever (`base` + index);
 * in here a node is its index, which fits the table.
 *
 *   generation 1: numbers 1 to 9      generation 2: base 9; held nodes are 10, 11, new ones 12,
 *                                     13...
 *
 * A generation begins between two batches: all numbers that a batch uses are of one generation,
 * defined in it or before.
 *
 * If threads hold too much for a new generation to be worth it, outer frames are kept and the rest
 * is cut under a node FRAME_TABLE_FULL; a sixteenth of the nodes is set aside for those, and when
 * these are gone too, the outer node itself stands for the stack.
 *
 * The index of nodes is a hash table in which the parent's number chooses the line of the
 * processor's cache: what new stacks ask is near what they have asked just before. Stacks of a
 * compiler are new in two of three events.
 *
 * A direct-mapped cache answers (parent, program counter, epoch) -> node, which is what most events
 * ask, and behind it one (program counter, epoch) -> place. Whoever changes the modules clears
 * them. The first has about a seventh of the memory: with 16,384 slots instead of 4,096 an event of
 * cc1plus costs the agent a fifth less, and more slots gain little.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/columns.h"

struct stacks {
	size_t size;	 /* of the memory, which begins with `cache` */
	uint64_t *place; /* module << 48 | offset; from 1 */
	uint32_t *place_index;
	struct stacks_node {
		uint32_t parent;
		uint32_t place;
	} * node;	      /* from 1 */
	uint32_t *node_index; /* a node, and above `node_mask` bits of its hash: most others are
				 passed over unread */
	uint32_t node_mask;
	uint32_t lines_a_node; /* of the index, times 2^32: where a parent's line is */
	struct stacks_cached {
		uint64_t key; /* program counter, and the epoch above it */
		uint32_t parent;
		uint32_t node;
	} * cache;
	struct stacks_located {
		uint64_t key;
		uint64_t place;
	} * located;
	uint32_t cache_shift; /* 64 - log2 of the slots of `cache`; `located` has a quarter of them
			       */
	uint32_t places, places_max, places_slots;
	uint32_t nodes, nodes_max, nodes_slots;
	uint32_t cut_place;   /* of FRAME_TABLE_FULL */
	bool has_cut;	      /* nodes with it were made */
	uint32_t sent;	      /* nodes up to this one were defined in closed batches */
	uint32_t base;	      /* numbers that earlier generations have used */
	uint32_t generations; /* begun after the first */
};

#define STACKS_MODULE_MAX 0xffff
#define STACKS_NUMBER_MAX (1u << 28)
#define STACKS_OFFSET_MAX ((UINT64_C(1) << 48) - 1)

/* `memory` (zeroed or not, `size` bytes, at least 16 KiB) stays the caller's. */
void stacks_init(struct stacks *stacks, void *memory, size_t size);
/* Goes on in other memory, that is larger. */
void stacks_move(struct stacks *stacks, void *memory, size_t size);
/* The place's number, made if it is new; 0: the table is full. */
uint32_t stacks_place(struct stacks *stacks, uint32_t module, uint64_t offset);
/* The node below `parent` (0: outermost), made if it is new. When the table is full, or `place` 0:
 * the cut node, or `parent` itself. */
uint32_t stacks_below(struct stacks *stacks, uint32_t parent, uint32_t place);
static inline uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t module,
				    uint64_t offset)
{
	return stacks_below(s, parent, stacks_place(s, module, offset));
}
/* True if frames were left out below this node. */
static inline bool stacks_is_cut(const struct stacks *s, uint32_t node)
{
	return s->has_cut && node && s->node[node].place == s->cut_place;
}
/* What stands for the node on the wire; 0 for 0. */
static inline uint32_t stacks_number(const struct stacks *s, uint32_t node)
{
	return node ? s->base + node : 0;
}
/* The definition of the node with this number. True; false: it was forgotten, and says so
 * (FRAME_FORGOTTEN). */
bool stacks_get(const struct stacks *stacks, uint32_t number, struct stack_node *ret_node);
/* Nodes that stacks may take; the rest is for cuts. */
static inline uint32_t stacks_limit(const struct stacks *s)
{
	return s->nodes_max - s->nodes_max / 16;
}
/* True if a stack of `frames` new frames is sure to find room. */
static inline bool stacks_has_room(const struct stacks *s, uint32_t frames)
{
	return s->nodes + frames <= stacks_limit(s) && s->nodes < stacks_limit(s) &&
	       s->places + frames <= s->places_max;
}

/* Nodes from the outermost frame on, that someone stands on. */
struct stacks_path {
	uint32_t *node;
	uint32_t depth;
	uint32_t most; /* that `node` has room for */
};

/* Begins a new generation, in which there are only the nodes of these paths; the paths name them by
 * their new index. False, and nothing has changed: more than half of the table would stay, or
 * numbers run out. */
bool stacks_renew(struct stacks *stacks, struct stacks_path *path, uint32_t paths);

/*
 * Where the answer to (parent, key) is, or would be. `trail` stands for the way to the parent:
 * stacks_trail of the node at which an event's new frames begin, and then what this function makes
 * of it frame by frame. So one frame's place does not wait for the answer of the frame before.
 * (`cache` and `shift` are those of the table, which the caller keeps in registers.)
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

/* Likewise, of a key alone. */
static inline struct stacks_located *stacks_located(const struct stacks *s, uint64_t key)
{
	return &s->located[key * UINT64_C(0x9e3779b97f4a7c15) >> (s->cache_shift + 2)];
}

void stacks_cache_clear(struct stacks *stacks);
