#pragma once
/* Finds nodes of the stack table that are not in its cache, for stream_take.c. */
#include <stdint.h>

#include "agent/stream/stream.h"

/* Returns the cache's key. Addresses have 48 bits, so the lower half of the epoch fits above
 * them. */
static inline uint64_t stream_cache_key(uint64_t pc, uint32_t epoch)
{
	return pc ^ (uint64_t)epoch << 48;
}

/* Returns the node for a program counter below `parent`, after a miss in the cache of nodes, and
 * fills the slot. The caller knows that there is room. */
uint32_t stream_find_node(struct stream *s, uint32_t parent, uint64_t pc, uint32_t epoch,
			  struct stacks_cached *cached);

/* Goes on below `parent` along nodes that follow each other, as far as the places are in the cache,
 * and adds nodes for new frames. The batch has room for `count` of them. Writes the nodes to `to`,
 * and moves `trail` on. Returns how many frames are left; the outermost of all is pcs[count - 1],
 * in memory that the program can write. */
uint32_t stream_find_chain(struct stream *s, uint32_t parent, uint64_t *trail, uint32_t *to,
			   const uint64_t *pcs, uint32_t count, uint32_t epoch);
