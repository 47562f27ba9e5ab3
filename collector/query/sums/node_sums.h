#pragma once
/*
 * Sums of blocks by the node of their stack: what groups, trees, totals and group filters are made
 * of. What a row costs is what a question takes: a node's sums lie side by side, and whole numbers
 * are added without asking what became of the block: there is a sum for every end. Rows that were
 * sampled are summed apart.
 */
#include "collector/columns/row_block.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "proto/culled.h"

/* beside enum block_end: survivors that are in use, which nobody has allocated */
#define NODE_SURVIVING 6
#define NODE_ENDS      7
#define NODE_LINE      64 /* bytes that come from memory at a time */

/* What nearly all rows change lies in the first line: those in use at the end or freed. */
struct node_sum {
	_Alignas(NODE_LINE) uint64_t min_size;
	uint64_t max_size;
	uint64_t first_ns, last_ns; /* births */
	struct node_count {
		uint64_t blocks, bytes;
	} by_end[NODE_ENDS], alive;
	uint32_t node;
	uint32_t sampled; /* index + 1; 0: nothing was */
};

struct node_sampled {
	struct tally alive, by_end[NODE_ENDS];
};

/* What is summed up. */
struct node_sums_what {
	bool ends;   /* apart by end; else all as BLOCK_IN_USE */
	bool alive;  /* what was alive at `at_ns`, too */
	bool chains; /* how many rows a realloc made of others, too */
	bool only;   /* only what `value` counts; without the above */
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
	uint64_t reallocations; /* rows that a realloc made of others, if asked for */
	uint16_t *room;		/* for rows that `value` counts */
	bool apart;		/* survivors are what is alive and leaked, and nothing else */
	struct node_sums_what what;
};

/* `nodes`: rows with a higher one count as without a backtrace. 0 or -ENOMEM; node_sums_done in
 * either case. */
int node_sums_init(struct node_sums *sums, uint32_t nodes, const struct node_sums_what *what);
void node_sums_done(struct node_sums *sums);
/* Room for so many sums, empty and of no node yet, for who fills them and `by_node` himself. 0 or
 * -ENOMEM. */
int node_sums_reserve(struct node_sums *sums, uint32_t count, uint32_t sampled);
/* Columns that node_sums_add looks at. */
unsigned node_sums_columns(const struct node_sums *sums);
/* 0 or -ENOMEM. */
int node_sums_add(struct node_sums *sums, const struct row_block *block,
		  const struct row_set *rows);
/* A sum of blocks that the agent culled. 0 or -ENOMEM. */
int node_sums_add_culled(struct node_sums *sums, const struct culled_row *row);
/* Nothing is added any more. */
void node_sums_seal(struct node_sums *sums);
int node_sums_merge(struct node_sums *into, const struct node_sums *from);
/* NULL: no row had this node. */
const struct node_sum *node_sums_get(const struct node_sums *sums, uint32_t node);

/* What `value` counts of a node: alive of VALUE_IN_USE and VALUE_PEAK. Of sums of one value only:
 * VALUE_ALLOCATED. */
struct tally node_sum_tally(const struct node_sums *sums, const struct node_sum *sum,
			    enum value value);
/* The same of all nodes together. */
struct tally node_sums_total(const struct node_sums *sums, enum value value);
/* What was summed up of one value becomes what was alive in `sums`, in which all of its nodes
 * are. */
int node_sums_set_alive(struct node_sums *sums, const struct node_sums *alive);
/* Blocks that ended so. */
struct tally node_sum_ended(const struct node_sums *sums, const struct node_sum *sum,
			    enum block_end end);

/* All rows that `matcher` lets through, in one sweep, and what was culled of such. `sums` is made
 * by it; 0 or a negative errno, then there is nothing to free. */
int node_sums_of(struct node_sums *sums, const struct matcher *matcher, uint32_t nodes,
		 const struct node_sums_what *what, struct err_text *err);
