#pragma once
/*
 * Finds the mapping that a block lay in. A region holds the blocks born at its addresses from the
 * end of the previous region there until the region's own end. This interval, the region's span,
 * starts before the region was first seen, because blocks are born in a mapping before a reading
 * shows it.
 *
 * The bounds of all regions divide the addresses into pieces, which are the leaves of a binary
 * tree. A region is attached to the few nodes that make up its addresses (at most two per level).
 * The regions at an address are therefore found on the path from its leaf to the root, however
 * large they are. The regions of a node are ordered by the start of their spans.
 */
#include <stdbool.h>
#include <stdint.h>

struct mappings;

struct map_spans {
	struct map_span {
		uint64_t from_ns, to_ns; /* births, both included */
		uint32_t map;
	} * list; /* in the order of the regions of the mappings */
	uint32_t count;
	uint64_t *bounds; /* addresses, ascending: piece i begins at bounds[i] */
	uint32_t bound_count, leaves;
	/* By node, the root is 1: index in `at` of the node's first entry; one more for the end. */
	uint32_t *first;
	struct map_spans_at {
		uint32_t region;
		/* The region that ends last, of this entry and the entries before it at the
		 * node. */
		uint32_t longest;
	} * at;
};

/* Returns 0 or -ENOMEM. */
int map_spans_init(struct map_spans *spans, const struct mappings *mappings);
void map_spans_done(struct map_spans *spans);
/* Returns false if no region fits. If several fit, *ret_map is the mapping with the highest
 * number. */
bool map_spans_find(const struct map_spans *spans, uint64_t address, uint64_t birth_ns,
		    uint64_t *ret_map);
