/* /data/ID/tree and /data/ID/allocation_ascii_tree: matched allocations by frame. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "collector/answers/walk.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define STEP_CANCEL 1024

const struct route_parameter tree_parameters[] = {WHAT_VALUE, WHAT_AT, {0}};

const struct route_parameter ascii_tree_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_WEIGHT,
	{"percent_min", what_percent, "number",
	 "leave out frames with less than this part of the whole; default 0"},
	PASSED_OVER_LOOKS,
	PASSED_OVER_ORDER,
	{0},
};

int ascii_tree_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(what_done) struct what what;
	int r = what_read(x, ascii_tree_parameters, &what);

	if (!r)
		r = query_tree(x->source->view, &what.filter, what.value, what.at_ns, &tree,
			       &x->err);
	if (r < 0)
		return r;
	x->content_type = "text/plain; charset=utf-8";
	return export_ascii_tree(&tree,
				 &(struct ascii_tree_options){.incomplete = x->incomplete,
							      .weight = what.weight,
							      .percent_min = what.percent_min},
				 &x->out, &x->err);
}

/* ---- JSON ---- */

struct told_node {
	uint64_t bytes, blocks, first_ns, last_ns; /* since the epoch */
};

#define ANSWER_OF struct told_node
static const struct answer_field node_fields[] = {
	ROW("size", bytes, "bytes", "with that of all children"),
	ROW("count", blocks, "blocks", "likewise"),
	ROW_AS("first", first_ns, ANSWER_TIME, "since the epoch", "when the first was allocated"),
	ROW_AS("last", last_ns, ANSWER_TIME, "since the epoch", "and the last"),
	BY_HAND("value", ANSWER_OBJECT, NULL, "absent: the root", .of = &frame_answer,
		.when = SOMETIMES),
	BY_HAND("children", ANSWER_OBJECT, NULL, "what this frame called", .of = &tree_node_answer,
		.shape = ANSWER_LIST),
	{0},
};
#undef ANSWER_OF
const struct answer tree_node_answer = {"tree_node", node_fields};

/* The members of a node up to the opening of its children: a tree may be deeper than the JSON
 * writer's levels. */
static int open_node(struct exchange *x, const struct tree *tree, uint32_t node)
{
	uint64_t start = recording_process(x->source->recording)->start_wall_ns;
	const struct tree_node *n = &tree->nodes[node];
	bool empty = n->first_ns == UINT64_MAX;
	const struct told_node told = {.bytes = n->bytes,
				       .blocks = n->blocks,
				       .first_ns = start + (empty ? 0 : n->first_ns),
				       .last_ns = start + n->last_ns};
	struct json json;
	int r = 0;

	if (node) {
		json_init(&json, &x->out);
		json_object(&json, NULL);
	} else {
		json_answer(&json, x);
	}
	json_members(&json, &tree_node_answer, &told, NULL);
	if (node)
		r = json_frame(&json, "value", x->source->view, n->node, n->frame, &x->err);
	json_array(&json, "children");
	return r;
}

static void close_nodes(struct exchange *x, uint32_t count)
{
	while (count--)
		buf_string(&x->out, "]}");
}

static int write_tree(struct exchange *x, const struct tree *tree, struct walk *walk)
{
	uint32_t node, depth = 0;
	int r = open_node(x, tree, 0);

	for (uint64_t i = 0; !r && (node = walk_next(walk)); i++) {
		bool brother = walk->depth <= depth;

		if (i % STEP_CANCEL == 0 && x->cancelled)
			return -ECANCELED;
		close_nodes(x, brother ? depth - walk->depth + 1 : 0);
		if (brother)
			buf_byte(&x->out, ',');
		depth = walk->depth;
		r = open_node(x, tree, node);
	}
	close_nodes(x, depth + 1);
	return r;
}

int tree_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(what_done) struct what what;
	struct walk walk;
	int r = what_read(x, tree_parameters, &what);

	if (!r)
		r = query_tree(x->source->view, &what.filter, what.value, what.at_ns, &tree,
			       &x->err);
	if (r < 0)
		return r;
	r = walk_init(&walk, &tree);
	if (!r)
		r = write_tree(x, &tree, &walk);
	walk_done(&walk);
	return r ? r : buf_error(&x->out);
}
