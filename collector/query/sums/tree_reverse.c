/*
 * A tree of frames from the inside out. Every node with blocks of its own is a path to the root.
 * Paths through the same functions are followed together: they form a run, a range of one array,
 * which each step divides by the function of the next caller:
 *
 *	malloc_a < parse < main       run at malloc_a: 3 paths, run at parse: 2, run at load: 1
 *	malloc_a < parse < load
 *	malloc_a < load  < main
 *
 * Runs that are too small are not followed, and the heaviest run is followed first, so that the
 * work is bounded by what will be visible.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturated.h"
#include "collector/query/match/intern.h"
#include "collector/query/sums/tree_maker.h"

#include "base/ban.h"

struct way {
	uint32_t at; /* node of the given tree; 0: the path has ended */
	uint64_t bytes, blocks;
};

struct run {
	uint64_t bytes;
	uint32_t first, end; /* range of ways */
	uint32_t node;	     /* node of the new tree */
};

struct reversal {
	const struct tree *tree;
	uint64_t least_bytes, least_blocks;
	uint32_t *parents, *labels; /* by node of the given tree */
	struct way *ways;
	uint32_t way_count;
	struct run *runs; /* runs to follow: a heap with the heaviest on top */
	uint32_t run_count, run_capacity;
	struct tree_maker maker;
};

static void reversal_done(struct reversal *r)
{
	free(r->parents);
	free(r->labels);
	free(r->ways);
	free(r->runs);
	tree_maker_done(&r->maker);
}

/* A view stores each text once, so addresses identify functions. */
static int label_nodes(struct reversal *r)
{
	struct intern labels = {0};
	int error = 0;

	for (size_t i = 1; i < r->tree->count && !error; i++) {
		const struct tree_node *n = &r->tree->nodes[i];

		r->labels[i] = intern_pair(&labels, (uint64_t)(uintptr_t)n->function,
					   (uint64_t)(uintptr_t)n->module);
		error = r->labels[i] ? 0 : -ENOMEM;
	}
	intern_done(&labels);
	return error;
}

static int tree_reverse_begin(struct reversal *r)
{
	const struct tree *tree = r->tree;

	r->parents = tree_parents(tree);
	r->labels = calloc(tree->count + 1, sizeof(*r->labels));
	r->ways = calloc(tree->count + 1, sizeof(*r->ways));
	if (!r->parents || !r->labels || !r->ways)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct tree_node *n = &tree->nodes[i];

		if (n->self_bytes || n->self_blocks)
			r->ways[r->way_count++] = (struct way){i, n->self_bytes, n->self_blocks};
	}
	return label_nodes(r);
}

static int by_label(const void *a, const void *b, void *context)
{
	const uint32_t *labels = context;
	uint32_t x = labels[((const struct way *)a)->at], y = labels[((const struct way *)b)->at];

	return x < y ? -1 : x > y;
}

static int tree_reverse_push(struct reversal *r, struct run run)
{
	uint32_t at;

	if (array_reserve(&r->runs, &r->run_capacity, (uint64_t)r->run_count + 1,
			  sizeof(*r->runs)) < 0)
		return -ENOMEM;
	for (at = r->run_count++; at && r->runs[(at - 1) / 2].bytes < run.bytes; at = (at - 1) / 2)
		r->runs[at] = r->runs[(at - 1) / 2];
	r->runs[at] = run;
	return 0;
}

static struct run tree_reverse_pop(struct reversal *r)
{
	struct run top = r->runs[0], last = r->runs[--r->run_count];
	uint32_t at = 0, below;

	while ((below = 2 * at + 1) < r->run_count) {
		below +=
			below + 1 < r->run_count && r->runs[below + 1].bytes > r->runs[below].bytes;
		if (last.bytes >= r->runs[below].bytes)
			break;
		r->runs[at] = r->runs[below];
		at = below;
	}
	r->runs[at] = last;
	return top;
}

/* Makes a child for the ways at one function, and a run that continues at their callers. */
static int tree_reverse_part(struct reversal *r, uint32_t parent, uint32_t first, uint32_t end)
{
	uint64_t bytes = 0, blocks = 0;
	struct tree_node *node;
	long made;

	for (uint32_t i = first; i < end; i++) {
		add_most(&bytes, r->ways[i].bytes);
		add_most(&blocks, r->ways[i].blocks);
	}
	made = tree_maker_child(&r->maker, parent, r->labels[r->ways[first].at],
				&r->tree->nodes[r->ways[first].at]);
	if (made < 0)
		return (int)made;
	node = &r->maker.tree.nodes[made];
	node->bytes = bytes;
	node->blocks = blocks;
	if (bytes < r->least_bytes && blocks < r->least_blocks)
		return 0;
	for (uint32_t i = first; i < end; i++)
		r->ways[i].at = r->parents[r->ways[i].at];
	return tree_reverse_push(r, (struct run){bytes, first, end, (uint32_t)made});
}

static int tree_reverse_walk(struct reversal *r, struct run run)
{
	struct tree_node *node = &r->maker.tree.nodes[run.node];
	struct way *ways = r->ways;
	uint32_t first = run.first, end;
	int error = 0;

	qsort_r(ways + first, run.end - first, sizeof(*ways), by_label, r->labels);
	/* Ways at the root have the label 0 and thus come first. */
	for (; first < run.end && !ways[first].at; first++) {
		add_most(&node->self_bytes, ways[first].bytes);
		add_most(&node->self_blocks, ways[first].blocks);
	}
	for (; first < run.end && !error; first = end) {
		for (end = first + 1;
		     end < run.end && r->labels[ways[end].at] == r->labels[ways[first].at];)
			end++;
		error = tree_reverse_part(r, run.node, first, end);
	}
	return error;
}

int tree_reversed(const struct tree *tree, uint64_t least_bytes, uint64_t least_blocks,
		  uint32_t most, struct tree *ret_tree)
{
	cleanup(reversal_done) struct reversal r = {
		.tree = tree, .least_bytes = least_bytes, .least_blocks = least_blocks};
	int error = tree_maker_init(&r.maker);

	if (!error)
		error = tree_reverse_begin(&r);
	for (uint32_t i = 0; i < r.way_count && !error; i++) {
		add_most(&r.maker.tree.nodes[0].bytes, r.ways[i].bytes);
		add_most(&r.maker.tree.nodes[0].blocks, r.ways[i].blocks);
	}
	if (!error)
		error = tree_reverse_push(&r, (struct run){0, 0, r.way_count, 0});
	for (uint32_t i = 0; !error && r.run_count && i <= most;
	     i++) /* the run of the root does not count */
		error = tree_reverse_walk(&r, tree_reverse_pop(&r));
	if (!error)
		error = tree_sort(&r.maker.tree);
	if (error)
		return error;
	*ret_tree = r.maker.tree;
	ret_tree->total = tree->total;
	r.maker.tree = (struct tree){0};
	return 0;
}
