/*
 * Converts two trees of frames into stacks. Frames with the same text are joined, regardless of
 * their module, as in the collapsed export:
 *
 *	tree    main [app] -> grow [app]   10      stacks   main;grow  17, of it grown 7
 *	                   -> grow [lib]    7
 *	grown   main [app] -> grow [lib]    7
 */
#include "collector/analyze/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/analyze/analysis.h"
#include "collector/formats/write/export.h"
#include "collector/answers/walk.h"
#include "collector/analyze/rules.h"
#include "collector/query/match/intern.h"
#include "collector/query/match/view.h"
#include "collector/query/query.h"

#include "base/ban.h"

/* Nodes by (parent, frame). A parent comes before its children. */
struct merged {
	struct merged_node {
		uint32_t parent, frame, depth;
		uint64_t bytes, blocks, grown;
	} * nodes; /* nodes[0]: the root */
	uint32_t count, capacity, deepest;
	struct map children;
	struct intern names; /* frames of all nodes; not all of these nodes are in stacks that the
				analysis gets */
	struct buf name;
	bool counts;
};

static void merged_done(struct merged *m)
{
	free(m->nodes);
	map_done(&m->children);
	intern_done(&m->names);
	buf_done(&m->name);
}

/* Returns the number of the frame, or 0 without memory. */
static uint32_t recorded_frame_of(struct merged *m, const char *function)
{
	buf_clear(&m->name);
	export_collapsed_name(function ? function : "[unknown]", &m->name);
	return buf_error(&m->name) ? 0 : intern_bytes(&m->names, m->name.data, m->name.length);
}

/* Returns the index of the child, or 0 without memory. */
static uint32_t child_of(struct merged *m, uint32_t parent, const char *function)
{
	uint32_t frame = recorded_frame_of(m, function), depth = m->nodes[parent].depth + 1;
	uint64_t *child =
		frame ? map_put(&m->children, (uint64_t)parent << 32 | frame, NULL) : NULL;

	if (!child)
		return 0;
	if (*child)
		return (uint32_t)*child;
	if (array_reserve(&m->nodes, &m->capacity, (uint64_t)m->count + 1, sizeof(*m->nodes)) < 0)
		return 0;
	m->nodes[m->count] = (struct merged_node){.parent = parent, .frame = frame, .depth = depth};
	if (depth > m->deepest)
		m->deepest = depth;
	*child = m->count;
	return m->count++;
}

static void add_self(struct merged *m, struct merged_node *to, const struct tree_node *from,
		     bool is_grown)
{
	if (is_grown) {
		to->grown += m->counts ? from->self_blocks : from->self_bytes;
		return;
	}
	to->bytes += from->self_bytes;
	to->blocks += from->self_blocks;
}

static int add_tree(struct merged *m, const struct tree *tree, bool is_grown)
{
	cleanup(cleanup_free) uint32_t *path = NULL;
	struct walk walk;
	uint32_t node;
	int r = walk_init(&walk, tree);

	path = r ? NULL : calloc((size_t)walk.deepest + 2, sizeof(*path));
	if (!path)
		r = -ENOMEM;
	while (!r && (node = walk_next(&walk))) {
		uint32_t at = child_of(m, path[walk.depth - 1], tree->nodes[node].function);

		path[walk.depth] = at;
		if (at)
			add_self(m, &m->nodes[at], &tree->nodes[node], is_grown);
		else
			r = -ENOMEM;
	}
	walk_done(&walk);
	return r;
}

static int recorded_give(struct merged *m, struct analysis *analysis, uint32_t *path, uint32_t node)
{
	const struct merged_node *n = &m->nodes[node];

	for (uint32_t at = node; at; at = m->nodes[at].parent) {
		uint32_t frame = intern_text(analysis_frames(analysis),
					     intern_get(&m->names, m->nodes[at].frame));

		if (!frame)
			return -ENOMEM;
		path[m->nodes[at].depth - 1] = frame;
	}
	return analysis_add(analysis,
			    &(struct analysis_stack){.frames = path,
						     .count = n->depth,
						     .value = m->counts ? n->blocks : n->bytes,
						     .blocks = n->blocks,
						     .grown = n->grown});
}

static int give_all(struct merged *m, struct analysis *analysis)
{
	cleanup(cleanup_free) uint32_t *path = calloc((size_t)m->deepest + 1, sizeof(*path));
	int r = path ? 0 : -ENOMEM;

	for (uint32_t i = 1; !r && i < m->count; i++)
		if (m->counts ? m->nodes[i].blocks : m->nodes[i].bytes)
			r = recorded_give(m, analysis, path, i);
	return r;
}

static int add_trees(struct analysis *analysis, const struct tree *tree, const struct tree *grown,
		     bool counts, struct err_text *err)
{
	cleanup(merged_done) struct merged m = {.counts = counts};
	int r = array_reserve(&m.nodes, &m.capacity, 1, sizeof(*m.nodes));

	m.count = 1;
	if (!r)
		r = add_tree(&m, tree, false);
	if (!r)
		r = add_tree(&m, grown, true);
	if (!r)
		r = give_all(&m, analysis);
	return r ? err_set(err, r, "no memory for the stacks") : 0;
}

/* Queries the blocks that realloc made from others. They are in the other tree, too. */
static int query_grown(struct view *view, const struct filter *filter, enum value value,
		       uint64_t at_ns, struct tree *ret_tree, struct err_text *err)
{
	struct filter grown = *filter; /* the copy borrows the texts */

	if (!grown.position_min)
		grown.position_min = 1;
	return query_tree(view, &grown, value, at_ns, ret_tree, err);
}

int analysis_add_view(struct analysis *analysis, struct view *view, const struct filter *filter,
		      enum value value, uint64_t at_ns, bool counts, struct err_text *err)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(tree_done) struct tree grown = {0};
	int r = query_tree(view, filter, value, at_ns, &tree, err);

	if (!r)
		r = query_grown(view, filter, value, at_ns, &grown, err);
	return r ? r : add_trees(analysis, &tree, &grown, counts, err);
}

/* ---- rules that suit the program ---- */

static bool begins(const char *text, const char *word)
{
	return text && !strncmp(text, word, strlen(word));
}

const char *recorded_rules(struct view *view)
{
	const char *rules = RULES_DEFAULT;
	bool python = false;

	if (view_prepare(view, NULL) < 0)
		return rules;
	for (uint32_t i = 1; i <= view->texts.count; i++) {
		const char *name = module_basename(intern_get(&view->texts, i));

		if (begins(name, "clickhouse"))
			return "clickhouse";
		if (begins(name, "libstdc++.so") || begins(name, "libc++.so") ||
		    begins(name, "libglib-2.0.so"))
			rules = "cxx";
	}
	for (uint32_t i = 1; i <= view->names.count; i++) {
		const char *name = intern_get(&view->names, i);

		if (begins(name, "DB::MergeTree"))
			return "clickhouse";
		if (begins(name, "std::") || begins(name, "core::") || begins(name, "__rust_"))
			rules = "cxx";
		python = python || begins(name, "Py_BytesMain") || begins(name, "Py_RunMain");
	}
	return python ? "python" : rules; /* extensions of Python are often in C++ */
}
