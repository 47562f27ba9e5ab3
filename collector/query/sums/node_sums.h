#pragma once
/*
 * Sums of blocks by the node of their stack. Groups, trees, totals and group filters are made from
 * them. The cost per row dominates a query, so the sums of a node lie side by side, and there is a
 * sum for every block_end, so that integers are added without a branch on the end. Sampled rows are
 * summed separately.
 */
#include "collector/columns/row_block.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "proto/culled.h"

/* In addition to enum block_end: survivors in use, and survivors that were freed. They do not count
 * as allocated. */
#define NODE_SURVIVING	    6
#define NODE_SURVIVOR_FREED 7
#define NODE_ENDS	    8
#define NODE_LINE	    64 /* bytes of a cache line */

/* The first line holds what nearly all rows change: blocks in use at the end, or freed. */
struct node_sum {
	_Alignas(NODE_LINE) uint64_t min_size;
	uint64_t max_size;
	uint64_t first_ns, last_ns; /* births */
	struct node_count {
		uint64_t blocks, bytes;
	} by_end[NODE_ENDS], alive;
	uint32_t node;
	uint32_t sampled; /* index + 1; 0: no row was sampled */
};

struct node_sampled {
	struct tally alive, by_end[NODE_ENDS];
};

/* What is summed up. */
struct node_sums_what {
	bool ends;   /* by end; if false, all under BLOCK_IN_USE */
	bool alive;  /* also what was alive at `at_ns` */
	bool chains; /* also the number of rows that a realloc made from others */
	bool only;   /* only what `value` counts; excludes the three above */
	bool rows;   /* without culled blocks */
	enum value value;
	uint64_t at_ns;
};

struct node_sums {
	struct node_sum *list;
	uint32_t count, capacity;
	struct node_sampled *sampled;
	uint32_t sampled_count, sampled_capacity;
	uint32_t *by_node; /* index + 1; 0: none yet. NULL after node_sums_seal */
	uint32_t nodes;
	uint64_t reallocations; /* number of rows that a realloc made from others, if asked for */
	uint16_t *room;		/* for value_select */
	bool apart;		/* survivors count as alive, leaked and freed only */
	struct node_sums_what what;
};

/* `nodes`: highest node; rows with a higher one count as rows without a backtrace. Returns 0 or
 * -ENOMEM; call node_sums_done in either case. */
int node_sums_init(struct node_sums *sums, uint32_t nodes, const struct node_sums_what *what);
void node_sums_done(struct node_sums *sums);
/* Reserves room for that many empty sums without a node. The caller fills them and `by_node`.
 * Returns 0 or -ENOMEM. */
int node_sums_reserve(struct node_sums *sums, uint32_t count, uint32_t sampled);
/* Returns the columns that node_sums_add reads. */
unsigned node_sums_columns(const struct node_sums *sums);
/* Returns 0 or -ENOMEM. */
int node_sums_add(struct node_sums *sums, const struct row_block *block,
		  const struct row_set *rows);
/* Adds a sum of blocks that the agent culled. Returns 0 or -ENOMEM. */
int node_sums_add_culled(struct node_sums *sums, const struct culled_row *row);
/* Ends adding, and frees what only adding needs. */
void node_sums_seal(struct node_sums *sums);
int node_sums_merge(struct node_sums *into, const struct node_sums *from);
/* Returns NULL if no row had this node. */
const struct node_sum *node_sums_get(const struct node_sums *sums, uint32_t node);

/* Returns what `value` counts of a node: `alive` for VALUE_IN_USE and VALUE_PEAK. For sums made
 * with `only`, pass VALUE_ALLOCATED. */
struct tally node_sum_tally(const struct node_sums *sums, const struct node_sum *sum,
			    enum value value);
/* Does the same for all nodes together. */
struct tally node_sums_total(const struct node_sums *sums, enum value value);
/* Sets `alive` of `sums` from sums that were made with `only`. `sums` must contain all nodes of
 * `alive`. */
int node_sums_set_alive(struct node_sums *sums, const struct node_sums *alive);
/* Returns the blocks that ended in this way: enum block_end, or NODE_SURVIVOR_FREED. */
struct tally node_sum_ended(const struct node_sums *sums, const struct node_sum *sum, unsigned end);

/* Sums up all rows that `matcher` selects, in one sweep, and the culled blocks that match.
 * Initializes `sums`. Returns 0, or a negative errno with nothing to free. */
int node_sums_of(struct node_sums *sums, const struct matcher *matcher, uint32_t nodes,
		 const struct node_sums_what *what, struct err_text *err);
