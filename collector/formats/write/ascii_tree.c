/*
 * Writes the tree of frames as text, one line per frame:
 *
 *	100.0%    1.5 MiB      1,234  main [app]
 *	 80.0%    1.2 MiB      1,000  |-parse [libparse.so]
 *	 80.0%    1.2 MiB      1,000  | node_new [libparse.so]
 *	 20.0%  307.2 KiB        234  `-print [app]
 *
 * Only frames with siblings are indented. A chain of calls goes straight down, so that deep
 * backtraces stay readable.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "collector/formats/write/put.h"
#include "collector/answers/walk.h"
#include "collector/query/query.h"
#include "collector/symbols/fold_name.h"

#include "base/ban.h"

#define NAME_LEAST 16 /* minimum columns for a name, at any depth */

/* How one level of the tree is drawn. */
struct level {
	bool set_in; /* the frame has visible siblings */
	bool more;   /* some of these siblings follow */
};

struct drawing {
	const struct tree *tree;
	const struct ascii_tree_options *options;
	struct level *levels;
	struct buf *out;
	uint64_t total;
};

static uint64_t ascii_tree_weight_of(const struct drawing *d, uint32_t node)
{
	const struct tree_node *n = &d->tree->nodes[node];

	return d->options->weight == EXPORT_BYTES ? n->bytes : n->blocks;
}

static bool is_shown(const struct drawing *d, uint32_t node)
{
	return (double)ascii_tree_weight_of(d, node) * 100 >=
	       d->options->percent_min * (double)d->total;
}

static bool brother_follows(const struct drawing *d, uint32_t node)
{
	for (uint32_t n = d->tree->nodes[node].next_sibling; n; n = d->tree->nodes[n].next_sibling)
		if (is_shown(d, n))
			return true;
	return false;
}

/* Updates the level of a node. The first child decides whether all siblings are indented. */
static void ascii_tree_enter(struct drawing *d, const struct walk *walk, uint32_t node)
{
	struct level *level = &d->levels[walk->depth];
	uint32_t parent = walk->depth > 1 ? walk->stack[walk->depth - 1] : 0;
	bool follows = brother_follows(d, node);

	if (d->tree->nodes[parent].first_child == node)
		level->set_in = follows;
	level->more = follows;
}

/* Draws the branches in front of a frame. Returns the number of columns used. */
static unsigned put_branches(struct drawing *d, uint32_t depth)
{
	unsigned used = 0;

	for (uint32_t i = 1; i <= depth; i++) {
		const struct level *level = &d->levels[i];

		if (!level->set_in)
			continue;
		if (i == depth)
			buf_string(d->out, level->more ? "|-" : "`-");
		else
			buf_string(d->out, level->more ? "| " : "  ");
		used += 2;
	}
	return used;
}

/* Appends at most `room` bytes of the name (0: all), without cutting a character. Removes control
 * characters. */
static void ascii_tree_put_name(struct buf *out, const char *name, unsigned room)
{
	size_t length = strlen(name), cut = length;

	if (room && length > room) {
		cut = room - 3;
		while (cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
			cut--;
	}
	for (size_t i = 0; i < cut; i++)
		buf_byte(out,
			 (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : (uint8_t)name[i]);
	if (cut < length)
		buf_string(out, "...");
}

static void ascii_tree_put_line(struct drawing *d, const struct walk *walk, uint32_t node)
{
	const struct tree_node *n = &d->tree->nodes[node];
	char size[32], count[32], text[1200], folded[1001];
	const char *name = n->function;
	unsigned used, width = d->options->width, room = 0;

	buf_printf(d->out, "%5.1f%% %10s %10s  ",
		   d->total ? 100.0 * (double)ascii_tree_weight_of(d, node) / (double)d->total : 0,
		   format_size(size, (double)n->bytes), format_count(count, n->blocks));
	used = 30 + put_branches(d, walk->depth);
	if (width)
		room = width > used + NAME_LEAST ? width - used : NAME_LEAST;
	if (d->options->short_names) {
		fold_name(folded, sizeof(folded), name);
		name = folded;
	}
	if (n->module && n->function[0] != '[')
		snprintf(text, sizeof(text), "%.1000s [%.150s]", name, module_basename(n->module));
	else
		snprintf(text, sizeof(text), "%.1000s", name);
	ascii_tree_put_name(d->out, text, room);
	buf_byte(d->out, '\n');
}

static void ascii_tree_draw(struct drawing *d, struct walk *walk)
{
	uint32_t node = walk_next(walk);

	while (node) {
		if (!is_shown(d, node)) {
			node = walk_over(walk);
			continue;
		}
		ascii_tree_enter(d, walk, node);
		ascii_tree_put_line(d, walk, node);
		node = walk_next(walk);
	}
}

int export_ascii_tree(const struct tree *tree, const struct ascii_tree_options *options,
		      struct buf *out, struct err_text *err)
{
	struct drawing d = {.tree = tree, .options = options, .out = out};
	struct walk walk;
	int r = walk_init(&walk, tree);

	if (!r) {
		d.levels = calloc((size_t)walk.deepest + 2, sizeof(*d.levels));
		r = d.levels ? 0 : -ENOMEM;
	}
	put_incomplete_line(out, "", options->incomplete, "\n");
	if (!r && tree->count) {
		d.total = ascii_tree_weight_of(&d, 0);
		ascii_tree_draw(&d, &walk);
	}
	free(d.levels);
	walk_done(&walk);
	if (!r)
		r = buf_error(out);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
