/*
 * The tree of frames. Rows are summed by node; nodes are then hung into a tree of (parent, function and module), in which recursion
 * through different lines of one function meets again, and inlined functions are frames of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/culled.h"
#include "collector/query/sweep.h"
#include "collector/query/tally.h"
#include "collector/query/view.h"

#include "base/ban.h"

struct weights {
	struct node_weight {
		uint64_t bytes;
		double blocks;
		uint64_t first_ns, last_ns; /* births */
	} * list;			    /* by node; [0]: without a backtrace */
	uint32_t nodes;
};

/* Of a part of the rows. */
struct weighing {
	struct weights weights;
	enum value value;
	uint64_t at_ns;
	uint16_t *room; /* for the rows that `value` counts */
};

static void add_row(struct weights *w, const struct row_block *block, uint32_t i)
{
	struct node_weight *to = &w->list[block->stack[i] <= w->nodes ? block->stack[i] : 0];
	uint64_t size = block->size[i], weight = row_weight(block, i), birth = block->birth_ns[i];

	if (!to->blocks || birth < to->first_ns)
		to->first_ns = birth;
	if (birth > to->last_ns)
		to->last_ns = birth;
	if (tally_is_sampled(size, weight)) {
		to->bytes += size ? weight : 0;
		to->blocks += (double)weight / (size ? (double)size : 1);
	} else {
		to->bytes += size;
		to->blocks++;
	}
}

static void add_culled(struct weights *w, const struct culled_row *row)
{
	struct node_weight *to = &w->list[row->stack <= w->nodes ? row->stack : 0];
	struct tally sum = {0};

	if (!to->blocks || row->first_ns < to->first_ns)
		to->first_ns = row->first_ns;
	if (row->last_ns > to->last_ns)
		to->last_ns = row->last_ns;
	tally_add_culled(&sum, row);
	to->bytes += tally_usage(&sum).bytes;
	to->blocks += (double)sum.blocks + sum.sampled_blocks;
}

static void part_free(void *part)
{
	struct weighing *w = part;

	free(w->weights.list);
	free(w->room);
	free(w);
}

static int part_new(void *context, void **ret_part)
{
	const struct weighing *whole = context;
	struct weighing *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret_part = w;
	*w = *whole;
	w->weights.list = calloc((size_t)w->weights.nodes + 1, sizeof(*w->weights.list));
	w->room = malloc(ROWS_PER_BLOCK * sizeof(*w->room));
	return w->weights.list && w->room ? 0 : -ENOMEM;
}

static int part_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	struct weighing *w = part;
	struct row_set counted = value_select(w->value, w->at_ns, block, rows, w->room);

	for (uint32_t k = 0; k < counted.count; k++)
		add_row(&w->weights, block, row_at(&counted, k));
	return 0;
}

static int part_merge(void *context, void *part)
{
	struct weighing *whole = context;
	const struct weighing *w = part;

	for (uint32_t n = 0; n <= whole->weights.nodes; n++) {
		struct node_weight *into = &whole->weights.list[n];
		const struct node_weight *from = &w->weights.list[n];

		if (!from->blocks)
			continue;
		if (!into->blocks || from->first_ns < into->first_ns)
			into->first_ns = from->first_ns;
		if (from->last_ns > into->last_ns)
			into->last_ns = from->last_ns;
		into->bytes += from->bytes;
		into->blocks += from->blocks;
	}
	return 0;
}

static bool part_skips(const void *context, const struct row_block *zone)
{
	const struct weighing *whole = context;

	return !value_possible(whole->value, whole->at_ns, zone);
}

static int weigh(struct weights *w, struct view *view, const struct filter *filter,
		 enum value value, uint64_t at_ns, struct err_text *err)
{
	struct weighing whole = {.weights = *w, .value = value, .at_ns = at_ns};
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (!r)
		r = sweep_run(&(struct sweep){.matcher = &m,
					      .columns = ROWS_STACK | ROWS_SIZE | ROWS_BIRTH |
							 ROWS_WEIGHT | value_columns(value),
					      .context = &whole,
					      .skips = part_skips,
					      .part_new = part_new,
					      .part_rows = part_rows,
					      .part_merge = part_merge,
					      .part_free = part_free},
			      err);
	if (!r && culled_counts(value))
		culled_each(&m, row) add_culled(w, row);
	matcher_done(&m);
	return r;
}

/* ---- building ---- */

struct builder {
	const struct view *view;
	bool hide; /* frames that only pass allocations on: what they hold is their caller's own */
	struct tree tree;
	size_t capacity;
	double *blocks;	     /* by tree node */
	struct map children; /* parent << 32 | label -> index */
};

static void builder_done(struct builder *b)
{
	tree_done(&b->tree);
	free(b->blocks);
	map_done(&b->children);
}

static long add_node(struct builder *b)
{
	if (b->tree.count == b->capacity) {
		size_t capacity = b->capacity ? 2 * b->capacity : 256;
		struct tree_node *nodes = realloc(b->tree.nodes, capacity * sizeof(*nodes));
		double *blocks;

		if (!nodes)
			return -ENOMEM;
		b->tree.nodes = nodes;
		blocks = realloc(b->blocks, capacity * sizeof(*blocks));
		if (!blocks || capacity > UINT32_MAX) {
			b->blocks = blocks ? blocks : b->blocks;
			return -ENOMEM;
		}
		b->blocks = blocks;
		b->capacity = capacity;
	}
	b->tree.nodes[b->tree.count] = (struct tree_node){.first_ns = UINT64_MAX};
	b->blocks[b->tree.count] = 0;
	return (long)b->tree.count++;
}

/* The child of `parent` for this frame, made if there is none. */
static long child(struct builder *b, uint32_t parent, uint32_t stack_node, uint32_t index_in_place)
{
	const struct frame *frame =
		&b->view->frames[view_place(b->view, stack_node)->first_frame + index_in_place];
	uint64_t *index = map_put(&b->children, (uint64_t)parent << 32 | frame->label, NULL);
	struct tree_node *node;
	long made;

	if (!index)
		return -ENOMEM;
	if (*index)
		return (long)*index;
	made = add_node(b);
	if (made < 0)
		return made;
	*index = (uint64_t)made;
	node = &b->tree.nodes[made];
	node->function = intern_get(&b->view->names, frame->name);
	node->module = intern_get(&b->view->texts, frame->module);
	node->file = intern_get(&b->view->texts, frame->file);
	node->line = frame->line;
	node->node = stack_node;
	node->frame = index_in_place;
	node->next_sibling = b->tree.nodes[parent].first_child;
	b->tree.nodes[parent].first_child = (uint32_t)made;
	return made;
}

/* Goes down from `at` through the frames of a node, outermost first. */
static long descend(struct builder *b, long at, uint32_t node)
{
	const struct place *place = view_place(b->view, node);

	for (uint32_t i = place->frame_count; at >= 0 && i-- > 0;)
		if (!b->hide || !b->view->frames[place->first_frame + i].allocator)
			at = child(b, (uint32_t)at, node, i);
	return at;
}

static void widen(struct tree_node *node, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < node->first_ns)
		node->first_ns = first_ns;
	if (last_ns > node->last_ns)
		node->last_ns = last_ns;
}

static int hang(struct builder *b, const struct weights *w)
{
	const struct recording *recording = b->view->recording;
	cleanup(cleanup_free) uint8_t *needed = calloc((size_t)w->nodes + 1, 1);
	cleanup(cleanup_free) uint32_t *at = calloc((size_t)w->nodes + 1, sizeof(*at));

	if (!needed || !at || add_node(b) < 0)
		return -ENOMEM;
	for (uint32_t n = w->nodes; n > 0; n--) {
		uint32_t parent = recording_node(recording, n)->parent;

		needed[n] |= w->list[n].blocks > 0;
		if (needed[n] && parent < n)
			needed[parent] = 1;
	}
	needed[0] = w->list[0].blocks > 0;
	for (uint32_t n = 0; n <= w->nodes; n++) {
		uint32_t parent = n ? recording_node(recording, n)->parent : 0;
		long index;

		if (!needed[n])
			continue;
		index = descend(b, n && parent && parent < n ? at[parent] : 0, n);
		if (index < 0)
			return (int)index;
		at[n] = (uint32_t)index;
		b->tree.nodes[index].self_bytes += w->list[n].bytes;
		b->blocks[index] += w->list[n].blocks;
		if (w->list[n].blocks > 0)
			widen(&b->tree.nodes[index], w->list[n].first_ns, w->list[n].last_ns);
	}
	return 0;
}

/* A node is made after its parent: going backwards, a node's own sum is complete when it is added to its parent's. */
static int sum_up(struct builder *b)
{
	cleanup(cleanup_free) uint32_t *parent = calloc(b->tree.count, sizeof(*parent));
	cleanup(cleanup_free) double *below = calloc(b->tree.count, sizeof(*below));
	struct tree_node *nodes = b->tree.nodes;

	if (!parent || !below)
		return -ENOMEM;
	for (size_t i = 0; i < b->tree.count; i++)
		for (uint32_t c = nodes[i].first_child; c; c = nodes[c].next_sibling)
			parent[c] = (uint32_t)i;
	for (size_t i = b->tree.count; i-- > 0;) {
		nodes[i].bytes += nodes[i].self_bytes;
		below[i] += b->blocks[i];
		nodes[i].self_blocks = (uint64_t)(b->blocks[i] + 0.5);
		nodes[i].blocks = (uint64_t)(below[i] + 0.5);
		if (i) {
			nodes[parent[i]].bytes += nodes[i].bytes;
			widen(&nodes[parent[i]], nodes[i].first_ns, nodes[i].last_ns);
			below[parent[i]] += below[i];
		}
	}
	return 0;
}

static int heaviest_first(const void *a, const void *b, void *context)
{
	const struct tree_node *nodes = context, *x = &nodes[*(const uint32_t *)a],
			       *y = &nodes[*(const uint32_t *)b];

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return strcmp(x->function, y->function);
}

static int sort_children(struct tree *tree)
{
	cleanup(cleanup_free) uint32_t *list = calloc(tree->count, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t count = 0;

		for (uint32_t c = tree->nodes[i].first_child; c; c = tree->nodes[c].next_sibling)
			list[count++] = c;
		qsort_r(list, count, sizeof(*list), heaviest_first, tree->nodes);
		for (uint32_t c = 0; c < count; c++)
			tree->nodes[list[c]].next_sibling = c + 1 < count ? list[c + 1] : 0;
		tree->nodes[i].first_child = count ? list[0] : 0;
	}
	return 0;
}

int query_tree(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
	       struct tree *ret_tree, struct err_text *err)
{
	cleanup(builder_done) struct builder b = {.view = view, .hide = filter->hide == ANSWER_YES};
	cleanup(cleanup_free) struct node_weight *list = NULL;
	struct weights w;
	int r = view_prepare(view, err);

	if (!r)
		r = value_moment(view, value, at_ns, filter, &at_ns, err);
	if (r < 0)
		return r;
	w.nodes = view->nodes;
	w.list = list = calloc((size_t)w.nodes + 1, sizeof(*list));
	r = list ? weigh(&w, view, filter, value, at_ns, err) : -ENOMEM;
	if (!r)
		r = hang(&b, &w);
	if (!r)
		r = sum_up(&b);
	if (!r)
		r = sort_children(&b.tree);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r < 0)
		return r;
	*ret_tree = b.tree;
	b.tree = (struct tree){0};
	return 0;
}

void tree_done(struct tree *tree)
{
	free(tree->nodes);
	*tree = (struct tree){0};
}
