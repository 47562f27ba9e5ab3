/* Matched allocations by frame: /data/ID/tree and /data/ID/allocation_ascii_tree; the tree as
 * columns, /data/ID/flame (answers/flame.c describes them); and its pictures,
 * /data/ID/export/flamegraph and flamegraph.html. The last three can also show the difference from
 * another recording. */
#include <errno.h>
#include <stdio.h>

#include "collector/answers/results.h"
#include "collector/answers/walk.h"
#include "collector/formats/write/export.h"
#include "collector/http/routes/asking.h"
#include "collector/http/routes/base.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define STEP_CANCEL 1024
#define COUNT_USUAL 200000

static int tree_ask(struct asking *a)
{
	return query_tree(a->view, &a->values.filter, a->values.value, a->values.at_ns, a->result,
			  &a->x->err);
}

DEFINE_DONE(tree_done)

/* ---- as text ---- */

static int ascii_tree_write(struct asking *a)
{
	return export_ascii_tree(a->result,
				 &(struct ascii_tree_options){.incomplete = a->x->incomplete,
							      .weight = a->values.weight,
							      .percent_min = a->values.percent_min},
				 &a->x->out, &a->x->err);
}

const struct route ascii_tree_route = {
	.path = "allocation_ascii_tree",
	.about = "matched allocations as a tree of frames, as text",
	.content_type = "text/plain; charset=utf-8",
	.flags = ROUTE_OF_RECORDING,
	.parameters = (const struct route_parameter[]){REQUEST_VALUE,
						       REQUEST_AT,
						       REQUEST_WEIGHT,
						       REQUEST_PERCENT("frames", "0"),
						       PASSED_OVER_LOOKS,
						       PASSED_OVER_ORDER,
						       {0}},
	ROUTE_ASKS(struct tree, tree_ask, tree_done_result),
	.write = ascii_tree_write,
};

/* ---- JSON ---- */

struct told_node {
	uint64_t bytes, blocks, first_ns, last_ns;
};

static const struct answer tree_node_answer;

#define ANSWER_OF struct told_node
static const struct answer_field node_fields[] = {
	ROW("size", bytes, "bytes", "bytes in the frame and below it"),
	ROW("count", blocks, "blocks", "blocks in the frame and below it"),
	ROW_AS("first", first_ns, ANSWER_WALL, "since the epoch", "time of the first allocation"),
	ROW_AS("last", last_ns, ANSWER_WALL, "since the epoch", "time of the last allocation"),
	BY_HAND("value", ANSWER_OBJECT, NULL, "the frame; absent: it is the root",
		.of = &frame_answer, .when = SOMETIMES),
	BY_HAND("children", ANSWER_OBJECT, NULL, "the frames that this frame called",
		.of = &tree_node_answer, .shape = ANSWER_LIST),
	{0},
};
#undef ANSWER_OF
static const struct answer tree_node_answer = {"tree_node", node_fields};

/* Writes the members of a node, and opens its children by hand: a tree may be deeper than the JSON
 * writer's levels. */
static int open_node(struct asking *a, struct json *json, uint32_t node)
{
	const struct tree *tree = a->result;
	const struct tree_node *n = &tree->nodes[node];
	const struct told_node told = {.bytes = n->bytes,
				       .blocks = n->blocks,
				       .first_ns = n->first_ns == UINT64_MAX ? 0 : n->first_ns,
				       .last_ns = n->last_ns};
	int r = json_members(json, &tree_node_answer, &told, &a->context);

	if (!r && node)
		r = json_frame(json, "value", a->view, n->node, n->frame, &a->x->err);
	json_array(json, "children");
	return r;
}

static int open_child(struct asking *a, uint32_t node)
{
	struct json json;

	json_init(&json, &a->x->out);
	json_object(&json, NULL);
	return open_node(a, &json, node);
}

static void close_nodes(struct asking *a, uint32_t count)
{
	while (count--)
		buf_string(&a->x->out, "]}");
}

static int write_children(struct asking *a, struct walk *walk)
{
	uint32_t node, depth = 0;
	int r = 0;

	for (uint64_t i = 0; !r && (node = walk_next(walk)); i++) {
		bool brother = walk->depth <= depth;

		if (i % STEP_CANCEL == 0 && a->x->cancelled)
			return -ECANCELED;
		close_nodes(a, brother ? depth - walk->depth + 1 : 0);
		if (brother)
			buf_byte(&a->x->out, ',');
		depth = walk->depth;
		r = open_child(a, node);
	}
	close_nodes(a, depth);
	return r;
}

static int tree_write(struct asking *a)
{
	struct walk walk;
	int r = walk_init(&walk, a->result);

	if (!r)
		r = open_node(a, &a->json, 0);
	if (!r)
		r = write_children(a, &walk);
	json_end(&a->json, ']');
	walk_done(&walk);
	return r;
}

const struct route tree_route = {
	.path = "tree",
	.about = "matched allocations as a tree of frames, as nested objects",
	.flags = ROUTE_OF_RECORDING,
	.parameters = (const struct route_parameter[]){REQUEST_VALUE, REQUEST_AT, {0}},
	.answer = &tree_node_answer,
	ROUTE_ASKS(struct tree, tree_ask, tree_done_result),
	.write = tree_write,
};

/* ---- trees of one recording, or of a difference ---- */

struct flame_result {
	struct tree tree, reversed;
	struct tree_diff diff;
	const struct tree *shown; /* one of the trees above */
};

static void flame_result_done(void *result)
{
	struct flame_result *f = result;

	tree_done(&f->tree);
	tree_done(&f->reversed);
	tree_diff_done(&f->diff);
}

/* Computes the tree for all three. For a difference, `shown` is the tree of both sides. */
static int flame_ask_any(struct asking *a)
{
	struct flame_result *f = a->result;
	struct diff_side base, now;
	int r;

	f->shown = a->values.base ? &f->diff.tree : &f->tree;
	if (!a->values.base)
		return query_tree(a->view, &a->values.filter, a->values.value, a->values.at_ns,
				  &f->tree, &a->x->err);
	if (a->values.reversed)
		return err_set(&a->x->err, -EINVAL, "reversed does not go with base");
	r = base_take(a, &base, &now);
	return r ? r : query_tree_diff(&base, &now, NULL, 0, &f->diff, &a->x->err);
}

static struct flame_options flame_options(struct asking *a, uint64_t count)
{
	const struct flame_result *f = a->result;
	bool differs = a->values.base;

	return (struct flame_options){.total = differs ? &f->diff.now_total : &f->shown->total,
				      .base_total = differs ? &f->diff.base_total : NULL,
				      .changes = differs ? f->diff.changes : NULL,
				      .count = count,
				      .cancelled = &a->x->cancelled};
}

static int flame_ask(struct asking *a)
{
	struct flame_result *f = a->result;
	int r = flame_ask_any(a);

	if (a->values.count == UINT64_MAX)
		a->values.count = COUNT_USUAL;
	if (r < 0 || !a->values.reversed)
		return r;
	f->shown = &f->reversed;
	return tree_reversed(&f->tree, 1, 1,
			     a->values.count < UINT32_MAX ? (uint32_t)a->values.count : UINT32_MAX,
			     &f->reversed);
}

static int flame_write(struct asking *a)
{
	const struct flame_result *f = a->result;
	const struct flame_options options = flame_options(a, a->values.count);

	return json_flame(&a->json, f->shown, &options);
}

const struct route flame_route = {
	.path = "flame",
	.about = "a tree of frames as columns: one recording, or its difference from another",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters =
		(const struct route_parameter[]){
			REQUEST_VALUE,
			REQUEST_AT,
			REQUEST_PREVIEW,
			REQUEST_BASE(
				"ID or ID@TIME",
				"shows what has changed since this base: both sides of each frame"),
			REQUEST_REVERSED("allocate"),
			REQUEST_NUMBER("count", count,
				       "at most so many nodes; those with fewest bytes are left "
				       "out; default 200000"),
			{0}},
	.answer = &flame_answer,
	ROUTE_ASKS(struct flame_result, flame_ask, flame_result_done),
	.write = flame_write,
};

/* ---- pictures ---- */

#define REQUEST_CHANGED                                                                            \
	REQUEST_BASE("ID or ID@TIME",                                                              \
		     "shows what has changed since this base: red has grown, blue has shrunk")

static int picture_ask(struct asking *a)
{
	struct flame_result *f = a->result;
	int r = flame_ask_any(a);

	return r < 0 || !a->values.reversed ? r : export_reverse(&f->tree, a->values.weight);
}

static const char *title_of(const struct asking *a)
{
	return a->values.title ? a->values.title
			       : recording_process(a->x->source->recording)->command_line;
}

#define SUBTITLE_MAX 256
static void write_subtitle(const struct asking *a, const char *unit, char subtitle[SUBTITLE_MAX])
{
	const struct process_info *process = recording_process(a->x->source->recording);

	snprintf(subtitle, SUBTITLE_MAX, "%s%s, pid %u on %s%s", value_name(a->values.value), unit,
		 process->pid, process->host ? process->host : "?",
		 a->values.base ? "; what has changed" : "");
}

static int flamegraph_write(struct asking *a)
{
	const struct flame_result *f = a->result;
	char subtitle[SUBTITLE_MAX];

	write_subtitle(a, a->values.weight == EXPORT_BYTES ? " bytes" : " blocks", subtitle);
	return export_flamegraph(f->shown,
				 &(struct flamegraph_options){
					 .title = title_of(a),
					 .subtitle = subtitle,
					 .incomplete = a->x->incomplete,
					 .weight = a->values.weight,
					 .width = a->values.width,
					 .inverted = a->values.inverted,
					 .reversed = a->values.reversed,
					 .changes = a->values.base ? f->diff.changes : NULL,
				 },
				 &a->x->out, &a->x->err);
}

const struct route flamegraph_route = {
	.path = "export/flamegraph",
	.about = "a flame graph",
	.content_type = "image/svg+xml",
	.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST,
	.parameters =
		(const struct route_parameter[]){
			REQUEST_VALUE,
			REQUEST_AT,
			REQUEST_WEIGHT,
			REQUEST_CHANGED,
			REQUEST_SWITCH("inverted", inverted,
				       "draws the roots on top; default false"),
			REQUEST_REVERSED("allocated"),
			REQUEST_TITLE,
			REQUEST_PIXELS("width", width, "default as wide as the window"),
			PASSED_OVER_LOOKS,
			PASSED_OVER_ORDER,
			{0}},
	ROUTE_ASKS(struct flame_result, picture_ask, flame_result_done),
	.write = flamegraph_write,
};

static int flame_file_write(struct asking *a)
{
	const struct flame_result *f = a->result;
	const struct flame_options options = flame_options(a, FLAME_FILE_NODES);
	char subtitle[SUBTITLE_MAX];

	write_subtitle(a, "", subtitle);
	return export_flame_file(f->shown,
				 &(struct flame_file_options){
					 .title = title_of(a),
					 .subtitle = subtitle,
					 .incomplete = a->x->incomplete,
					 .weight = a->values.weight,
					 .reversed = a->values.reversed,
					 .flame = &options,
				 },
				 &a->x->out, &a->x->err);
}

const struct route flame_file_route = {
	.path = "export/flamegraph.html",
	.about = "the page's flame graph, as a file that needs no collector",
	.content_type = "text/html; charset=utf-8",
	.flags = ROUTE_OF_RECORDING | ROUTE_MAY_HAVE_REST,
	.parameters = (const struct route_parameter[]){REQUEST_VALUE,
						       REQUEST_AT,
						       REQUEST_WEIGHT,
						       REQUEST_CHANGED,
						       REQUEST_REVERSED("allocated"),
						       REQUEST_TITLE,
						       {0}},
	ROUTE_ASKS(struct flame_result, picture_ask, flame_result_done),
	.write = flame_file_write,
};
