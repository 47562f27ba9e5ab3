#pragma once
/*
 * Which mapping a block lay in. A region of a mapping holds what was born at its addresses since
 * what lay there before went and until it ended itself: blocks are born in a mapping before a
 * reading shows it.
 *
 * The bounds of all regions cut the addresses into pieces, the leaves of a binary tree. A region
 * hangs at the few nodes that make up its addresses (at most two a level), so that those at an
 * address are found on the way from its leaf to the root, however large some are; at each node they
 * are in the order in which they began.
 */
#include <stdbool.h>
#include <stdint.h>

struct mappings;

struct map_spans {
	struct map_span {
		uint64_t from_ns, to_ns; /* births, both included */
		uint32_t map;
	} * list; /* as the regions of the mappings */
	uint32_t count;
	uint64_t *bounds; /* addresses, ascending: piece i begins at bounds[i] */
	uint32_t bound_count, leaves;
	uint32_t *first; /* by node, the root is 1: where those at it begin in `at`; one more for
			    the end */
	struct map_spans_at {
		uint32_t region;
		uint32_t longest; /* of this and those before it at the node: which one stays
				     longest */
	} * at;
};

/* 0 or -ENOMEM. */
int map_spans_init(struct map_spans *spans, const struct mappings *mappings);
void map_spans_done(struct map_spans *spans);
/* The last one of them where several fit. */
bool map_spans_find(const struct map_spans *spans, uint64_t address, uint64_t birth_ns,
		    uint64_t *ret_map);
