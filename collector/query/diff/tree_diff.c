/*
 * Joins two trees of frames into one. Both are inserted; then each frame has the own values of both
 * sides, and totals are added up. The width of a frame is the greater of its two own values plus
 * the widths of its children, so that frames of both sides have room.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/query/match/intern.h"
#include "collector/query/diff/sides.h"
#include "collector/query/sums/tree_maker.h"

#include "base/ban.h"

struct joining {
	struct tree_maker maker;
	struct tree_change *changes;
	uint32_t capacity; /* capacity of `changes` */
	struct intern texts, labels;
	const struct diff_names *names;
};

static void joining_done(struct joining *j)
{
	tree_maker_done(&j->maker);
	free(j->changes);
	intern_done(&j->texts);
	intern_done(&j->labels);
}

void tree_diff_done(struct tree_diff *diff)
{
	tree_done(&diff->tree);
	free(diff->changes);
	*diff = (struct tree_diff){0};
}

/* Labels are made from texts, because each view numbers its own. */
static uint32_t label_of(struct joining *j, const struct tree_node *node, bool base)
{
	const char *name = diff_function_name(j->names, base, node->function);
	uint32_t function = intern_text(&j->texts, name ? name : ""),
		 module = intern_text(&j->texts,
				      diff_has_names_alone(j->names)
					      ? ""
					      : diff_module_name(j->names, base, node->module));

	return function && module ? intern_pair(&j->labels, function, module) : 0;
}

/* Inserts `tree`; `place` gets the index of each of its nodes in the new tree. */
static int tree_diff_hang(struct joining *j, const struct tree *tree, bool base, uint32_t *place)
{
	cleanup(cleanup_free) uint32_t *parents = tree_parents(tree);

	if (!parents)
		return -ENOMEM;
	for (size_t i = 1; i < tree->count; i++) {
		uint32_t label = label_of(j, &tree->nodes[i], base);
		long made = label ? tree_maker_child(&j->maker, place[parents[i]], label,
						     &tree->nodes[i])
				  : -ENOMEM;

		if (made < 0)
			return (int)made;
		place[i] = (uint32_t)made;
	}
	return 0;
}

static int tree_diff_join(struct joining *j, const struct tree *tree, bool base)
{
	cleanup(cleanup_free) uint32_t *place = calloc(tree->count + 1, sizeof(*place));
	struct tree_change *grown;
	int error = place ? tree_diff_hang(j, tree, base, place) : -ENOMEM;

	if (error)
		return error;
	grown = reallocarray(j->changes, j->maker.tree.count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	j->changes = grown;
	for (; j->capacity < j->maker.tree.count; j->capacity++)
		j->changes[j->capacity] = (struct tree_change){0};
	for (size_t i = 0; i < tree->count; i++) {
		struct tree_change *c = &j->changes[place[i]];

		*(base ? &c->base_bytes : &c->now_bytes) += tree->nodes[i].self_bytes;
		*(base ? &c->base_blocks : &c->now_blocks) += tree->nodes[i].self_blocks;
	}
	return 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Parents come before their children, so a pass from the end completes a node before adding it to
 * its parent. */
static int tree_diff_sum_up(struct joining *j)
{
	struct tree_node *nodes = j->maker.tree.nodes;
	cleanup(cleanup_free) uint32_t *parents = tree_parents(&j->maker.tree);

	if (!parents)
		return -ENOMEM;
	for (size_t i = 0; i < j->maker.tree.count; i++) {
		const struct tree_change *own = &j->changes[i];

		nodes[i].bytes = nodes[i].self_bytes = greater(own->base_bytes, own->now_bytes);
		nodes[i].blocks = nodes[i].self_blocks = greater(own->base_blocks, own->now_blocks);
	}
	for (size_t i = j->maker.tree.count; i-- > 1;) {
		struct tree_change *c = &j->changes[i], *above = &j->changes[parents[i]];

		add_most(&nodes[parents[i]].bytes, nodes[i].bytes);
		add_most(&nodes[parents[i]].blocks, nodes[i].blocks);
		add_most(&above->base_bytes, c->base_bytes);
		add_most(&above->base_blocks, c->base_blocks);
		add_most(&above->now_bytes, c->now_bytes);
		add_most(&above->now_blocks, c->now_blocks);
	}
	return 0;
}

/* Sorting changes links, not indices, so `changes` stays valid. */
static int tree_diff_finish(struct joining *j, struct tree_diff *ret_diff)
{
	int error = tree_diff_sum_up(j);

	if (!error)
		error = tree_sort(&j->maker.tree);
	if (error)
		return error;
	ret_diff->tree = j->maker.tree;
	ret_diff->changes = take_ptr(j->changes);
	j->maker.tree = (struct tree){0};
	return 0;
}

static int tree_of_side(const struct diff_side *side, const struct hiding *hiding,
			struct tree *ret_tree, struct err_text *err)
{
	return tree_of(side->view, hiding, side->filter, side->value, side->at_ns, ret_tree, err);
}

int query_tree_diff(const struct diff_side *base, const struct diff_side *now,
		    const struct diff_renamed *renamed, size_t renamed_count,
		    struct tree_diff *ret_diff, struct err_text *err)
{
	const struct diff_names names = {view_recording(base->view), view_recording(now->view),
					 renamed, renamed_count};
	cleanup(diff_hiding_done) struct diff_hiding hiding;
	cleanup(tree_done) struct tree before = {0};
	cleanup(tree_done) struct tree after = {0};
	cleanup(joining_done) struct joining j = {.names = &names};
	int r = diff_hiding_init(&hiding, base, now, &names, err);

	if (!r)
		r = tree_of_side(base, &hiding.base, &before, err);
	if (!r)
		r = tree_of_side(now, &hiding.now, &after, err);
	if (r < 0)
		return r;
	r = tree_maker_init(&j.maker);
	if (!r)
		r = tree_diff_join(&j, &after, false);
	if (!r)
		r = tree_diff_join(&j, &before, true);
	if (!r)
		r = tree_diff_finish(&j, ret_diff);
	if (!r) {
		ret_diff->base_total = before.total;
		ret_diff->now_total = after.total;
	}
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
