/*
 * Writes a call graph for Graphviz, in the style of pprof: one box per function with its own and
 * its total allocations, and one arrow per call, as thick as the value that came through it. To
 * keep the graph readable, functions with little value are left out. A call through these functions
 * is a dotted arrow.
 *
 * The tree is walked twice: first to determine the total of each function (recursion counts once),
 * then to determine the arrows between the functions that are shown. Each function counts how often
 * it is on the current path.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/saturated.h"
#include "collector/formats/write/export.h"
#include "collector/formats/write/writer.h"
#include "collector/answers/weight.h"
#include "collector/formats/write/put.h"
#include "collector/answers/walk.h"
#include "collector/query/match/intern.h"
#include "collector/query/match/view.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* Defaults. */
#define CALLGRAPH_FUNCTIONS   80
#define CALLGRAPH_PERCENT_MIN 0.5

#define NAME_MAX_SHOWN 100 /* characters */
#define FONT_LEAST     9
#define FONT_MORE      15 /* points added for a function that has everything */
#define PEN_MORE       6
#define EDGE_PARTS     1000 /* part of the whole: smaller calls are left out */

struct function {
	const struct tree_node *like; /* one of its frames */
	uint64_t self, total;
	/* number: from 0; above: how often it is on the path to the current node. */
	uint32_t number, above;
	bool shown;
};

struct edge {
	uint32_t from, to; /* functions */
	uint64_t weight;
	uint32_t above;
	bool through; /* the call passes through functions that are left out */
};

struct callgraph {
	const struct tree *tree;
	const struct callgraph_options *options;
	struct intern labels;
	struct function *functions;
	uint32_t function_count, function_capacity;
	uint32_t *function_of; /* by node */
	struct edge *edges;
	uint32_t edge_count, edge_capacity;
	struct map by_ends; /* key: from << 32 | to; value: index + 1 */
	uint64_t whole;
};

static void callgraph_done(struct callgraph *g)
{
	intern_done(&g->labels);
	free(g->functions);
	free(g->function_of);
	free(g->edges);
	map_done(&g->by_ends);
}

static uint64_t callgraph_weight_of(const struct callgraph *g, const struct tree_node *n)
{
	return g->options->weight == EXPORT_BYTES ? n->bytes : n->blocks;
}

static uint64_t self_of(const struct callgraph *g, const struct tree_node *n)
{
	return g->options->weight == EXPORT_BYTES ? n->self_bytes : n->self_blocks;
}

/* ---- functions ---- */

static int number_functions(struct callgraph *g)
{
	g->function_of = calloc(g->tree->count + 1, sizeof(*g->function_of));
	if (!g->function_of)
		return -ENOMEM;
	for (size_t i = 1; i < g->tree->count; i++) {
		const struct tree_node *n = &g->tree->nodes[i];
		uint32_t label = intern_pair(&g->labels, (uint64_t)(uintptr_t)n->function,
					     (uint64_t)(uintptr_t)n->module);

		if (!label || array_reserve(&g->functions, &g->function_capacity, label,
					    sizeof(*g->functions)) < 0)
			return -ENOMEM;
		g->function_of[i] = label - 1;
		g->functions[label - 1].like = n;
		g->functions[label - 1].number = label - 1;
		g->function_count = g->labels.count;
	}
	return 0;
}

/* Sums up totals. A node counts only if its function is not already on the path above. */
static int sum_functions(struct callgraph *g)
{
	struct walk walk;
	uint32_t node, depth = 0;
	cleanup(cleanup_free) uint32_t *way = NULL;
	int error = walk_init(&walk, g->tree);

	if (!error)
		way = calloc((size_t)walk.deepest + 2, sizeof(*way));
	error = error ? error : way ? 0 : -ENOMEM;
	while (!error && (node = walk_next(&walk))) {
		struct function *f = &g->functions[g->function_of[node]];

		for (; depth >= walk.depth && depth; depth--)
			g->functions[way[depth]].above--;
		add_most(&f->self, self_of(g, &g->tree->nodes[node]));
		add_most(&f->total, f->above ? 0 : callgraph_weight_of(g, &g->tree->nodes[node]));
		f->above++;
		way[depth = walk.depth] = g->function_of[node];
	}
	for (; depth && !error; depth--)
		g->functions[way[depth]].above--;
	walk_done(&walk);
	return error;
}

static int callgraph_heaviest_first(const void *a, const void *b)
{
	const struct function *x = *(struct function *const *)a, *y = *(struct function *const *)b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int choose_functions(struct callgraph *g)
{
	cleanup(cleanup_free) struct function **list =
		calloc((size_t)g->function_count + 1, sizeof(*list));
	double least = (double)g->whole * g->options->percent_min / 100;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->function_count; i++)
		list[i] = &g->functions[i];
	qsort(list, g->function_count, sizeof(struct function *), callgraph_heaviest_first);
	for (uint32_t i = 0; i < g->function_count && i < g->options->count; i++)
		list[i]->shown = list[i]->total && (double)list[i]->total >= least;
	return 0;
}

/* ---- calls ---- */

static struct edge *edge_of(struct callgraph *g, uint32_t from, uint32_t to)
{
	uint64_t *index = map_put(&g->by_ends, (uint64_t)from << 32 | to, NULL);

	if (!index)
		return NULL;
	if (*index)
		return &g->edges[*index - 1];
	if (array_reserve(&g->edges, &g->edge_capacity, (uint64_t)g->edge_count + 1,
			  sizeof(*g->edges)) < 0)
		return NULL;
	g->edges[g->edge_count] = (struct edge){.from = from, .to = to};
	*index = ++g->edge_count;
	return &g->edges[g->edge_count - 1];
}

/* By depth, for the path above the current node: the nearest shown function, its depth, and the
 * edge from it + 1. */
struct above {
	uint32_t function, depth, edge;
};

#define NO_FUNCTION UINT32_MAX

static int step_down(struct callgraph *g, struct above *way, uint32_t depth, uint32_t node)
{
	uint32_t function = g->function_of[node];
	struct above up = way[depth - 1];
	struct edge *edge;

	way[depth] = (struct above){up.function, up.depth, 0};
	if (!g->functions[function].shown)
		return 0;
	way[depth].function = function;
	way[depth].depth = depth;
	if (up.function == NO_FUNCTION)
		return 0;
	edge = edge_of(g, up.function, function);
	if (!edge)
		return -ENOMEM;
	add_most(&edge->weight, edge->above++ ? 0 : callgraph_weight_of(g, &g->tree->nodes[node]));
	edge->through |= up.depth + 1 < depth;
	way[depth].edge = (uint32_t)(edge - g->edges) + 1;
	return 0;
}

static int sum_edges(struct callgraph *g)
{
	struct walk walk;
	uint32_t node, depth = 0;
	cleanup(cleanup_free) struct above *way = NULL;
	int error = walk_init(&walk, g->tree);

	if (!error)
		way = calloc((size_t)walk.deepest + 2, sizeof(*way));
	error = error ? error : way ? 0 : -ENOMEM;
	if (!error)
		way[0].function = NO_FUNCTION;
	while (!error && (node = walk_next(&walk))) {
		for (; depth >= walk.depth && depth; depth--)
			if (way[depth].edge)
				g->edges[way[depth].edge - 1].above--;
		error = step_down(g, way, depth = walk.depth, node);
	}
	walk_done(&walk);
	return error;
}

/* ---- text ---- */

/* Appends the text for a quoted string. Backslashes are escaped, because they begin a Graphviz
 * escape. */
static void put_quoted(struct buf *out, const char *text)
{
	cleanup(buf_done) struct buf clean = {0};
	size_t shown = 0;

	put_utf8(&clean, text);
	for (size_t i = 0; i < clean.length; i++) {
		shown += (clean.data[i] & 0xc0) != 0x80;
		if (shown > NAME_MAX_SHOWN) {
			buf_string(out, "\xe2\x80\xa6");
			break;
		}
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_byte(out, '\\');
		buf_byte(out, clean.data[i]);
	}
	if (buf_error(&clean))
		out->error = buf_error(&clean);
}

static void callgraph_put_amount(const struct callgraph *g, struct buf *out, uint64_t amount)
{
	char text[32];

	buf_string(out, g->options->weight == EXPORT_BYTES ? format_size(text, (double)amount)
							   : format_count(text, amount));
}

static double share_of(const struct callgraph *g, uint64_t amount)
{
	return g->whole ? (double)amount / (double)g->whole : 0;
}

/* Formats with integers, because a locale may use a decimal comma. */
static void put_hundredths(struct buf *out, double value)
{
	unsigned hundredths = value > 0 ? (unsigned)(value * 100 + 0.5) : 0;

	buf_printf(out, "%u.%02u", hundredths / 100, hundredths % 100);
}

static void put_share(const struct callgraph *g, struct buf *out, uint64_t amount)
{
	buf_string(out, " (");
	put_hundredths(out, 100 * share_of(g, amount));
	buf_string(out, "%)");
}

static void put_function(const struct callgraph *g, const struct function *f, struct buf *out)
{
	double share = share_of(g, f->total);
	const char *name = f->like->function ? f->like->function : "[unknown]";

	buf_printf(out, "N%u [label=\"", f->number);
	put_quoted(out, name);
	if (f->like->module && *f->like->module) {
		buf_string(out, "\\n");
		put_quoted(out, module_basename(f->like->module));
	}
	buf_string(out, "\\n");
	callgraph_put_amount(g, out, f->self);
	put_share(g, out, f->self);
	if (f->self != f->total) {
		buf_string(out, "\\nof ");
		callgraph_put_amount(g, out, f->total);
		put_share(g, out, f->total);
	}
	buf_string(out, "\" tooltip=\"");
	put_quoted(out, name);
	buf_printf(out, ": %" PRIu64 " itself, %" PRIu64 " in all\" fontsize=", f->self, f->total);
	put_hundredths(out, FONT_LEAST + FONT_MORE * sqrt(share_of(g, f->self)));
	/* The colour goes from grey to a warm tone: hue, saturation, value. */
	buf_string(out, " fillcolor=\"0.08 ");
	put_hundredths(out, 0.04 + 0.46 * share);
	buf_string(out, " ");
	put_hundredths(out, 0.97 - 0.03 * share);
	buf_string(out, "\"];\n");
}

static void put_edge(const struct callgraph *g, const struct edge *e, struct buf *out)
{
	double share = share_of(g, e->weight);

	buf_printf(out, "N%u -> N%u [label=\" ", e->from, e->to);
	callgraph_put_amount(g, out, e->weight);
	buf_string(out, "\" penwidth=");
	put_hundredths(out, 0.8 + PEN_MORE * share);
	buf_printf(out, " weight=%u", 1 + (unsigned)(share * 100));
	buf_printf(out, " tooltip=\"%" PRIu64 "\"%s];\n", e->weight,
		   e->through ? " style=dotted" : "");
}

static void put_graph(const struct callgraph *g, struct buf *out)
{
	buf_string(out, "digraph heapcast {\n");
	put_incomplete_line(out, "// ", g->options->incomplete, "\n");
	if (g->options->title) {
		buf_string(out, "label=\"");
		put_incomplete_line(out, "", g->options->incomplete, "\\n");
		put_quoted(out, g->options->title);
		buf_string(out, "\\n");
		callgraph_put_amount(g, out, g->whole);
		buf_printf(out, "%s\" labelloc=t fontsize=14\n",
			   g->options->weight == EXPORT_BYTES ? "" : " blocks");
	}
	buf_string(out, "graph [fontname=\"Helvetica\"]\n"
			"node [shape=box style=\"filled\" margin=\"0.14,0.09\" "
			"fontname=\"Helvetica\" color=\"#8a8f98\"]\n"
			"edge [fontname=\"Helvetica\" fontsize=9 color=\"#5c6370\"]\n");
	for (uint32_t i = 0; i < g->function_count; i++)
		if (g->functions[i].shown)
			put_function(g, &g->functions[i], out);
	for (uint32_t i = 0; i < g->edge_count; i++)
		if (g->edges[i].weight > g->whole / EDGE_PARTS)
			put_edge(g, &g->edges[i], out);
	buf_string(out, "}\n");
}

int export_callgraph(const struct tree *tree, const struct callgraph_options *options,
		     struct buf *out, struct err_text *err)
{
	cleanup(callgraph_done) struct callgraph g = {.tree = tree, .options = options};
	int error;

	g.whole = tree->count ? callgraph_weight_of(&g, &tree->nodes[0]) : 0;
	error = number_functions(&g);
	if (!error)
		error = sum_functions(&g);
	if (!error)
		error = choose_functions(&g);
	if (!error)
		error = sum_edges(&g);
	if (!error) {
		put_graph(&g, out);
		error = buf_error(out);
	}
	return error ? err_set(err, error, "no memory for the call graph") : 0;
}

static int write_callgraph(const struct writing *w, struct buf *out, struct err_text *err)
{
	uint64_t count = w->count == UINT64_MAX ? CALLGRAPH_FUNCTIONS : w->count;
	const struct callgraph_options options = {
		.title = w->title ? w->title
				  : recording_process(view_recording(w->view))->command_line,
		.incomplete = w->incomplete,
		.weight = w->weight,
		.percent_min = w->percent_min < 0 ? CALLGRAPH_PERCENT_MIN : w->percent_min,
		.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
	};
	cleanup(tree_done) struct tree tree = {0};
	int r = query_tree(w->view, w->filter, w->value, w->at_ns, &tree, err);

	return r ? r : export_callgraph(&tree, &options, out, err);
}

const struct format_writer callgraph_writer = {.write = write_callgraph};
