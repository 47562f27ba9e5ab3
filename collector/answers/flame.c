/*
 * Writes a tree of frames as columns, compact enough for a page to draw about 200,000 of them:
 *
 *	strings  "", and each name of a function, file and module once
 *	short    the same names in their short form; "": there is nothing to shorten
 *	frames   function, file, line, module, inline: each distinct combination once
 *	nodes    depth, frame, bytes, blocks (base_bytes, base_blocks): parents before children, the
 *		 heaviest child first
 *
 * Node 0 is the root; its depth is 0 and its frame -1. A node's parent is the last node before it
 * with a smaller depth. Values are totals of the subtree. A node's own value is its total minus
 * those of its children, so a node can be left out without changing any other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collector/answers/answer.h"
#include "collector/answers/results.h"
#include "collector/answers/walk.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/query/match/intern.h"

#include "base/ban.h"

#define STEP_CANCEL 1024

struct frame_row {
	uint32_t function, file, line, module; /* texts, as numbers of strings */
	bool is_inline;
};

struct node_row {
	uint32_t node, depth, frame; /* frame: number from 1; 0 for the root */
};

struct flame {
	const struct tree *tree;
	const struct flame_options *options;
	struct json *json;
	/* Keeps nodes with more than `least` bytes, and the first `least_room` nodes with exactly
	 * `least` bytes. */
	uint64_t least, least_room;
	struct intern strings, frames;
	struct frame_row *frame_rows; /* by number */
	uint32_t frame_capacity;
	struct node_row *rows;
	uint32_t count, capacity;
};

static void flame_done(struct flame *f)
{
	intern_done(&f->strings);
	intern_done(&f->frames);
	free(f->frame_rows);
	free(f->rows);
}

/* ---- selecting nodes ---- */

static int flame_heaviest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* A child is never heavier than its parent, and the parent comes first. So the parent of a kept
 * node is kept, too. */
static int flame_choose(struct flame *f)
{
	uint64_t most = f->options->count > 1 ? f->options->count - 1 : 0;
	cleanup(cleanup_free) uint64_t *bytes = NULL;
	size_t count = f->tree->count - 1;

	f->least_room = UINT64_MAX;
	if (count <= most)
		return 0;
	bytes = calloc(count, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		bytes[i] = f->tree->nodes[i + 1].bytes;
	qsort(bytes, count, sizeof(*bytes), flame_heaviest_first);
	f->least = most ? bytes[most - 1] : UINT64_MAX;
	f->least_room = 0;
	while (f->least_room < most && bytes[most - 1 - f->least_room] == f->least)
		f->least_room++;
	return 0;
}

static bool flame_is_kept(struct flame *f, uint32_t node)
{
	uint64_t bytes = f->tree->nodes[node].bytes;

	if (bytes != f->least || !f->least_room)
		return bytes > f->least;
	f->least_room--;
	return true;
}

/* ---- numbers of texts and frames ---- */

static int string_number(struct flame *f, const char *text, uint32_t *ret_number)
{
	*ret_number = text && *text ? intern_text(&f->strings, text) : 0;
	return text && *text && !*ret_number ? -ENOMEM : 0;
}

static int flame_frame_number(struct flame *f, const struct tree_node *n, uint32_t *ret_number)
{
	struct frame_row row = {.line = n->line, .is_inline = n->is_inline};
	uint32_t known = f->frames.count;

	if (string_number(f, n->function, &row.function) || string_number(f, n->file, &row.file) ||
	    string_number(f, n->module, &row.module))
		return -ENOMEM;
	*ret_number = intern_pair(&f->frames, (uint64_t)row.function << 32 | row.file,
				  (uint64_t)row.line << 32 | row.module << 1 | row.is_inline);
	if (!*ret_number || array_reserve(&f->frame_rows, &f->frame_capacity,
					  (uint64_t)*ret_number + 1, sizeof(row)) < 0)
		return -ENOMEM;
	if (*ret_number > known)
		f->frame_rows[*ret_number] = row;
	return 0;
}

static int flame_add(struct flame *f, uint32_t node, uint32_t depth)
{
	struct node_row row = {.node = node, .depth = depth};
	int r = node ? flame_frame_number(f, &f->tree->nodes[node], &row.frame) : 0;

	if (!r)
		r = array_reserve(&f->rows, &f->capacity, (uint64_t)f->count + 1, sizeof(row));
	if (!r)
		f->rows[f->count++] = row;
	return r;
}

static int flame_gather(struct flame *f)
{
	struct walk walk;
	int r = walk_init(&walk, f->tree);

	if (!r)
		r = flame_add(f, 0, 0);
	for (uint32_t node = r ? 0 : walk_next(&walk); node && !r;) {
		if (f->count % STEP_CANCEL == 0 && *f->options->cancelled)
			r = -ECANCELED;
		else if (!flame_is_kept(f, node))
			node = walk_over(&walk);
		else if (!(r = flame_add(f, node, walk.depth)))
			node = walk_next(&walk);
	}
	walk_done(&walk);
	return r;
}

/* Counts the nodes that were not kept, and the nodes of a reversed tree whose callers are
 * missing. */
static uint64_t count_cut(const struct flame *f)
{
	uint64_t cut = f->tree->count - f->count;

	for (size_t i = 1; !f->options->changes && i < f->tree->count; i++) {
		const struct tree_node *n = &f->tree->nodes[i];

		cut += !n->first_child && (n->self_bytes < n->bytes || n->self_blocks < n->blocks);
	}
	return cut;
}

/* ---- columns ---- */

#define INDICES(label, text) BY_HAND(label, ANSWER_U32, "index", text, .shape = ANSWER_LIST)
static const struct answer_field frames_fields[] = {
	INDICES("function", "index into strings"),
	INDICES("file", "index into strings; 0: unknown"),
	BY_HAND("line", ANSWER_U32, NULL, "0: unknown", .shape = ANSWER_LIST),
	INDICES("module", "index into strings; 0: unknown"),
	BY_HAND("inline", ANSWER_U32, NULL, "1: inlined into its parent", .shape = ANSWER_LIST),
	{0},
};
static const struct answer frames_answer = {"flame_frames", frames_fields};

#define SUMS(label, unit, ...)                                                                     \
	BY_HAND(label, ANSWER_U64, unit, "of it and all below", .shape = ANSWER_LIST, ##__VA_ARGS__)
static const struct answer_field nodes_fields[] = {
	BY_HAND("depth", ANSWER_U32, "frames", "0: the root", .shape = ANSWER_LIST),
	BY_HAND("frame", ANSWER_I64, "index", "index into frames; -1: the root",
		.shape = ANSWER_LIST),
	SUMS("bytes", "bytes"),
	SUMS("blocks", "blocks"),
	SUMS("base_bytes", "bytes", .when = SOMETIMES),
	SUMS("base_blocks", "blocks", .when = SOMETIMES),
	{0},
};
static const struct answer nodes_answer = {"flame_nodes", nodes_fields};

static const struct answer_field flame_fields[] = {
	BY_HAND("total", ANSWER_USAGE, NULL, "all frames together"),
	BY_HAND("base_total", ANSWER_USAGE, NULL, "the same of the base", .when = SOMETIMES),
	BY_HAND("cut", ANSWER_U64, "nodes", "nodes that were left out"),
	BY_HAND("strings", ANSWER_TEXT, NULL, "texts that indices point to; the first one is empty",
		.shape = ANSWER_LIST),
	BY_HAND("short", ANSWER_TEXT, NULL,
		"for each string, the function without template arguments and parameters; empty if "
		"that is the same",
		.shape = ANSWER_LIST),
	BY_HAND("frames", ANSWER_OBJECT, NULL, "arrays with one value for each frame",
		.of = &frames_answer),
	BY_HAND("nodes", ANSWER_OBJECT, NULL,
		"arrays with one value for each node; parents come before children",
		.of = &nodes_answer),
	{0},
};
const struct answer flame_answer = {"flame", flame_fields};

static void put_frame_column(struct flame *f, const char *name, size_t offset)
{
	json_array(f->json, name);
	for (uint32_t i = 1; i <= f->frames.count; i++)
		json_u64(f->json, NULL,
			 *(const uint32_t *)((const char *)&f->frame_rows[i] + offset));
	json_end(f->json, ']');
}

static void flame_put_frames(struct flame *f)
{
	json_object(f->json, "frames");
	put_frame_column(f, "function", offsetof(struct frame_row, function));
	put_frame_column(f, "file", offsetof(struct frame_row, file));
	put_frame_column(f, "line", offsetof(struct frame_row, line));
	put_frame_column(f, "module", offsetof(struct frame_row, module));
	json_array(f->json, "inline");
	for (uint32_t i = 1; i <= f->frames.count; i++)
		json_u64(f->json, NULL, f->frame_rows[i].is_inline);
	json_end(f->json, ']');
	json_end(f->json, '}');
}

/* Writes a column of numbers. A node's number is at `offset` in its element of the list. */
static void put_sum_column(struct flame *f, const char *name, const void *list, size_t size,
			   size_t offset)
{
	json_array(f->json, name);
	for (uint32_t i = 0; i < f->count; i++)
		json_u64(f->json, NULL,
			 *(const uint64_t *)((const char *)list + f->rows[i].node * size + offset));
	json_end(f->json, ']');
}

static void put_nodes(struct flame *f)
{
	const struct tree_change *changes = f->options->changes;
	const struct tree_node *nodes = f->tree->nodes;

	json_object(f->json, "nodes");
	json_array(f->json, "depth");
	for (uint32_t i = 0; i < f->count; i++)
		json_u64(f->json, NULL, f->rows[i].depth);
	json_end(f->json, ']');
	json_array(f->json, "frame");
	for (uint32_t i = 0; i < f->count; i++)
		json_i64(f->json, NULL, (int64_t)f->rows[i].frame - 1);
	json_end(f->json, ']');
#define COLUMN(name, list, member)                                                                 \
	put_sum_column(f, name, list, sizeof(*(list)),                                             \
		       (size_t)((const char *)&(list)->member - (const char *)(list)))
	if (changes) {
		COLUMN("bytes", changes, now_bytes);
		COLUMN("blocks", changes, now_blocks);
		COLUMN("base_bytes", changes, base_bytes);
		COLUMN("base_blocks", changes, base_blocks);
	} else {
		COLUMN("bytes", nodes, bytes);
		COLUMN("blocks", nodes, blocks);
	}
#undef COLUMN
	json_end(f->json, '}');
}

int json_flame(struct json *json, const struct tree *tree, const struct flame_options *options)
{
	cleanup(flame_done) struct flame f = {.tree = tree, .options = options, .json = json};
	int r = flame_choose(&f);

	if (!r)
		r = flame_gather(&f);
	if (r < 0)
		return r;
	json_usage(json, "total", options->total);
	if (options->base_total)
		json_usage(json, "base_total", options->base_total);
	json_u64(json, "cut", count_cut(&f));
	json_array(json, "strings");
	json_string(json, NULL, "");
	for (uint32_t i = 1; i <= f.strings.count; i++)
		json_string(json, NULL, intern_get(&f.strings, i));
	json_end(json, ']');
	json_array(json, "short");
	json_string(json, NULL, "");
	for (uint32_t i = 1; i <= f.strings.count; i++)
		json_short_name(json, NULL, intern_get(&f.strings, i));
	json_end(json, ']');
	flame_put_frames(&f);
	put_nodes(&f);
	return 0;
}
