/*
 * Makes the tree of frames. Rows are summed by node. Nodes are then inserted into a tree keyed by
 * (parent, function and module). Recursion through different lines of one function is merged there,
 * and inlined functions are frames of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/query/sums/tree_maker.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/time/peak.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* The sums by node of the matched rows. */
struct sums {
	struct node_sums own;
	const struct node_sums *sums;
};

static void tree_sums_done(struct sums *s)
{
	node_sums_done(&s->own);
}

static int tree_sum_rows(struct sums *s, struct view *view, const struct filter *filter,
			 enum value value, uint64_t at_ns, struct err_text *err)
{
	const struct node_sums_what what = {
		.only = value != VALUE_ALLOCATED, .value = value, .at_ns = at_ns};
	const struct whole_sums *whole;
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (r < 0)
		return r;
	if (m.everything && value == VALUE_ALLOCATED) {
		r = view_whole_sums(view, filter, 0, &whole, err);
		s->sums = r < 0 ? NULL : &whole->sums;
	} else {
		r = node_sums_of(&s->own, &m, view->nodes, &what, err);
		s->sums = &s->own;
	}
	matcher_done(&m);
	return r;
}

/* ---- building ---- */

struct builder {
	const struct view *view;
	const struct hiding *hiding; /* the value of what is hidden becomes its caller's own */
	struct tree_maker maker;
	double *blocks; /* by tree node */
	uint32_t blocks_capacity;
};

static void builder_done(struct builder *b)
{
	tree_maker_done(&b->maker);
	free(b->blocks);
}

/* Says what a frame of a stack node is called and where it is. */
static const struct frame *tree_node_place(struct tree_node *node, const struct view *view,
					   uint32_t stack_node, uint32_t index_in_place)
{
	const struct frame *frame =
		&view->frames[view_place(view, stack_node)->first_frame + index_in_place];

	node->function = intern_get(&view->names, frame->name);
	node->module = intern_get(&view->texts, frame->module);
	node->file = intern_get(&view->texts, frame->file);
	node->line = frame->line;
	node->node = stack_node;
	node->frame = index_in_place;
	node->is_inline = frame->is_inline;
	return frame;
}

/* Returns the child of `parent` for this frame, and makes it if there is none. */
static long child(struct builder *b, uint32_t parent, uint32_t stack_node, uint32_t index_in_place)
{
	struct tree_node like = {0};
	const struct frame *frame = tree_node_place(&like, b->view, stack_node, index_in_place);

	return tree_maker_child(&b->maker, parent, frame->label, &like);
}

/* Descends from `at` through the frames of a node, outermost first. */
static long descend(struct builder *b, long at, uint32_t node)
{
	const struct place *place = view_place(b->view, node);

	for (uint32_t i = place->frame_count; at >= 0 && i-- > 0;)
		if (!hiding_hides(b->hiding, &b->view->frames[place->first_frame + i]))
			at = child(b, (uint32_t)at, node, i);
	return at;
}

static void tree_widen(struct tree_node *node, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < node->first_ns)
		node->first_ns = first_ns;
	if (last_ns > node->last_ns)
		node->last_ns = last_ns;
}

/* A node is needed if any row has it in its stack. */
static uint8_t *mark_needed(const struct recording *recording, const struct node_sums *sums)
{
	uint8_t *needed = calloc((size_t)sums->nodes + 1, 1);

	for (uint32_t n = sums->nodes; needed && n > 0; n--) {
		uint32_t parent = recording_node(recording, n)->parent;

		needed[n] |= node_sums_get(sums, n) != NULL;
		if (needed[n] && parent < n)
			needed[parent] = 1;
	}
	if (needed)
		needed[0] = node_sums_get(sums, 0) != NULL;
	return needed;
}

static int put_sum(struct builder *b, uint32_t index, const struct node_sums *sums,
		   const struct node_sum *sum)
{
	struct tally tally = node_sum_tally(sums, sum, VALUE_ALLOCATED);

	if (array_reserve(&b->blocks, &b->blocks_capacity, (uint64_t)index + 1,
			  sizeof(*b->blocks)) < 0)
		return -ENOMEM;
	add_most(&b->maker.tree.nodes[index].self_bytes, tally_usage(&tally).bytes);
	b->blocks[index] += (double)tally.blocks + tally.sampled_blocks;
	tree_widen(&b->maker.tree.nodes[index], sum->first_ns, sum->last_ns);
	return 0;
}

/* ---- lines ---- */

/* Bytes of a stack node and of all that it called. The caller frees them. NULL: no memory. */
static uint64_t *bytes_below(const struct recording *recording, const struct node_sums *sums)
{
	uint64_t *below = calloc((size_t)sums->nodes + 1, sizeof(*below));

	for (uint32_t n = sums->nodes; below && n > 0; n--) {
		uint32_t parent = recording_node(recording, n)->parent;
		const struct node_sum *sum = node_sums_get(sums, n);
		struct tally tally;

		if (sum) {
			tally = node_sum_tally(sums, sum, VALUE_ALLOCATED);
			add_most(&below[n], tally_usage(&tally).bytes);
		}
		if (parent && parent < n)
			add_most(&below[parent], below[n]);
	}
	return below;
}

struct line_sum {
	uint64_t bytes;
	uint32_t node, frame; /* the first that has the line */
};

struct lines {
	struct map by_line; /* tree node, line -> index + 1 */
	struct line_sum *list;
	uint32_t count, capacity;
	uint32_t *best; /* by tree node: index + 1 */
};

static void lines_done(struct lines *l)
{
	map_done(&l->by_line);
	free(l->list);
	free(l->best);
}

static int add_line(struct lines *l, uint32_t index, uint32_t line, const struct line_sum *from)
{
	uint64_t *at = map_put(&l->by_line, (uint64_t)index << 32 | line, NULL);
	struct line_sum *sum;

	if (!at || (!*at && array_reserve(&l->list, &l->capacity, (uint64_t)l->count + 1,
					  sizeof(*l->list)) < 0))
		return -ENOMEM;
	if (!*at) {
		l->list[l->count++] = (struct line_sum){.node = from->node, .frame = from->frame};
		*at = l->count;
	}
	sum = &l->list[*at - 1];
	add_most(&sum->bytes, from->bytes);
	if (!l->best[index] || sum->bytes > l->list[l->best[index] - 1].bytes)
		l->best[index] = (uint32_t)*at;
	return 0;
}

/* Adds the frames of a stack node, from the innermost, which is the tree node `at`, outwards. */
static int add_lines(struct lines *l, const struct builder *b, const uint32_t *parents, uint32_t at,
		     uint32_t node, uint64_t bytes)
{
	const struct place *place = view_place(b->view, node);
	int r = 0;

	for (uint32_t i = 0; !r && i < place->frame_count; i++) {
		const struct frame *frame = &b->view->frames[place->first_frame + i];

		if (hiding_hides(b->hiding, frame))
			continue;
		r = add_line(l, at, frame->line, &(struct line_sum){bytes, node, i});
		at = parents[at];
	}
	return r;
}

/* A tree node stands for all lines of its function. It shows the one with most bytes, as the first
 * call site of the function in a list does. `at`: the tree node of each stack node; 0: none. */
static int tree_choose_lines(struct builder *b, const struct node_sums *sums, const uint32_t *at)
{
	const struct tree *tree = &b->maker.tree;
	cleanup(cleanup_free) uint64_t *below = bytes_below(b->view->recording, sums);
	cleanup(cleanup_free) uint32_t *parents = tree_parents(tree);
	cleanup(lines_done) struct lines l = {.best = calloc(tree->count, sizeof(*l.best))};
	int r = below && parents && l.best ? 0 : -ENOMEM;

	for (uint32_t n = 1; !r && n <= sums->nodes; n++)
		if (at[n])
			r = add_lines(&l, b, parents, at[n], n, below[n]);
	for (size_t i = 1; !r && i < tree->count; i++) {
		const struct line_sum *best = l.best[i] ? &l.list[l.best[i] - 1] : NULL;

		if (best)
			tree_node_place(&tree->nodes[i], b->view, best->node, best->frame);
	}
	return r;
}

/* ---- hanging ---- */

static int tree_hang(struct builder *b, const struct node_sums *sums)
{
	const struct recording *recording = b->view->recording;
	cleanup(cleanup_free) uint8_t *needed = mark_needed(recording, sums);
	cleanup(cleanup_free) uint32_t *at = calloc((size_t)sums->nodes + 1, sizeof(*at));

	if (!needed || !at || tree_maker_init(&b->maker) < 0)
		return -ENOMEM;
	for (uint32_t n = 0; n <= sums->nodes; n++) {
		uint32_t parent = n ? recording_node(recording, n)->parent : 0;
		const struct node_sum *sum = node_sums_get(sums, n);
		long index;

		if (!needed[n])
			continue;
		index = descend(b, n && parent && parent < n ? at[parent] : 0, n);
		if (index < 0)
			return (int)index;
		at[n] = (uint32_t)index;
		if (sum && put_sum(b, (uint32_t)index, sums, sum) < 0)
			return -ENOMEM;
	}
	return tree_choose_lines(b, sums, at);
}

/* A node is made after its parent. So a pass from the end completes a node's sum before adding it
 * to the parent's. */
static int tree_sum_up(struct builder *b)
{
	const struct tree *tree = &b->maker.tree;
	cleanup(cleanup_free) uint32_t *parent = tree_parents(tree);
	cleanup(cleanup_free) double *below = calloc(tree->count, sizeof(*below));
	struct tree_node *nodes = tree->nodes;

	if (!parent || !below ||
	    array_reserve(&b->blocks, &b->blocks_capacity, tree->count, sizeof(*b->blocks)) < 0)
		return -ENOMEM;
	for (size_t i = tree->count; i-- > 0;) {
		add_most(&nodes[i].bytes, nodes[i].self_bytes);
		below[i] += b->blocks[i];
		nodes[i].self_blocks = whole_most(b->blocks[i]);
		nodes[i].blocks = whole_most(below[i]);
		if (i) {
			add_most(&nodes[parent[i]].bytes, nodes[i].bytes);
			tree_widen(&nodes[parent[i]], nodes[i].first_ns, nodes[i].last_ns);
			below[parent[i]] += below[i];
		}
	}
	return 0;
}

int tree_of(struct view *view, const struct hiding *hiding, const struct filter *filter,
	    enum value value, uint64_t at_ns, struct tree *ret_tree, struct err_text *err)
{
	cleanup(builder_done) struct builder b = {.view = view, .hiding = hiding};
	cleanup(tree_sums_done) struct sums sums = {0};
	struct tally total;
	int r = value_moment(view, value, at_ns, filter, &at_ns, err);

	if (!r)
		r = tree_sum_rows(&sums, view, filter, value, at_ns, err);
	if (r < 0)
		return r;
	r = tree_hang(&b, sums.sums);
	if (!r)
		r = tree_sum_up(&b);
	if (!r)
		r = tree_sort(&b.maker.tree);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r < 0)
		return r;
	total = node_sums_total(sums.sums, VALUE_ALLOCATED);
	*ret_tree = b.maker.tree;
	ret_tree->total = tally_total(&total, view->recording, value, at_ns);
	b.maker.tree = (struct tree){0};
	return 0;
}

int query_tree(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
	       struct tree *ret_tree, struct err_text *err)
{
	struct hiding hiding;
	int r = hiding_of(&hiding, view, filter, err);

	return r ? r : tree_of(view, &hiding, filter, value, at_ns, ret_tree, err);
}

void tree_done(struct tree *tree)
{
	free(tree->nodes);
	*tree = (struct tree){0};
}
