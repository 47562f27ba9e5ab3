/*
 * Writes the flame graph as one self-contained SVG file. See export.h.
 *
 *   +--------------------------------------------------+
 *   | title                            [search] [reset]| head: title, subtitle, frame under the
 *   | subtitle                                         | mouse
 *   |            [ malloc ]                            |
 *   |      [ parse ][ read ]                           | one row per depth, roots below
 *   | [ main                                        ]  | (inverted: on top)
 *   | [ all                                         ]  |
 *   | # program  # libc.so.6                           | colours: one per module,
 *   +--------------------------------------------------+ shades by function
 *
 * A frame is a <g> with a rectangle whose x and width are in percent, so that it scales with the
 * window. An <svg> per frame would clip its text as well, but takes browsers a hundred times as
 * long. The script (flamegraph.js) needs only the attributes and the title of a frame. Frames that
 * are too narrow to be visible initially are stored as numbers, and the script draws them when the
 * user zooms in. Above a maximum number of these, the narrowest are left out and counted, which
 * bounds the size of the file for any tree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/saturated.h"
#include "collector/formats/write/flamegraph_parts.h"
#include "collector/formats/write/put.h"
#include "collector/answers/walk.h"
#include "collector/query/query.h"
#include "flamegraph-assets.h"

#include "base/ban.h"

#define DEFAULT_WIDTH	       1200
#define NARROWEST_TENTHS       3 /* tenths of a pixel at that width */
#define FRAMES_DRAWN_MAX       4000
#define FRAMES_KEPT_MAX	       100000 /* stored for the script */
#define ROWS_MAX	       1000
#define TOOLS_PIXELS	       400 /* search field and buttons, with the number of matches */
#define TITLE_CHARACTER_PIXELS 11
#define REVERSED_PARTS	       20000 /* part of the whole: nodes below it are not expanded */
#define FOOT_PIXELS	       34

/* ---- frames ---- */

/* `next` holds, per row, where the next frame starts: at its parent's left edge, then behind its
 * sibling. */
static int flamegraph_put_frames(struct flamegraph *g)
{
	uint64_t *next = NULL;
	struct walk walk;
	uint32_t node;
	int error = walk_init(&walk, g->tree);

	if (!error)
		next = calloc((size_t)walk.deepest + 2, sizeof(*next));
	if (!error && !next)
		error = -ENOMEM;
	if (!error)
		flamegraph_put_frame(g, 0, 0, 0);
	for (node = error ? 0 : walk_next(&walk); node;) {
		uint64_t weight = flamegraph_weight(g, node);

		if (weight >= g->floor && walk.depth < ROWS_MAX) {
			if (weight >= g->least && walk.depth < g->rows)
				flamegraph_put_frame(g, node, walk.depth, next[walk.depth]);
			else
				flamegraph_put_more(g, node, walk.depth, next[walk.depth]);
			next[walk.depth + 1] = next[walk.depth];
			add_most(&next[walk.depth], weight);
			node = walk_next(&walk);
		} else {
			add_most(&next[walk.depth], weight);
			node = walk_over(&walk);
		}
	}
	free(next);
	walk_done(&walk);
	return error;
}

/* ---- selecting frames ---- */

/* Counts the frames of at least the weight `least`, and the rows that they need. */
static uint32_t count_frames(const struct flamegraph *g, struct walk *walk, uint64_t least,
			     size_t *ret_count)
{
	uint32_t node, rows = 0;

	*ret_count = 0;
	walk->depth = 0;
	for (node = walk_next(walk); node;) {
		if (flamegraph_weight(g, node) < least || walk->depth >= ROWS_MAX) {
			node = walk_over(walk);
			continue;
		}
		if (walk->depth > rows)
			rows = walk->depth;
		++*ret_count;
		node = walk_next(walk);
	}
	return rows + 1;
}

/* Raises `*least` until at most `most` frames have that weight, but not beyond `limit`. Returns the
 * number of frames. */
static size_t raise_least(const struct flamegraph *g, struct walk *walk, size_t most,
			  uint64_t limit, uint64_t *least, uint32_t *ret_rows)
{
	size_t count;

	for (;;) {
		*ret_rows = count_frames(g, walk, *least, &count);
		if (count <= most || *least >= limit)
			return count;
		*least += *least / 2 + 1;
	}
}

/* Reduces the rows, counted from the roots, until they have at most FRAMES_DRAWN_MAX frames
 * together. Returns the number of frames. */
static size_t cut_rows(const struct flamegraph *g, struct walk *walk, uint32_t *rows)
{
	size_t *in_row = calloc((size_t)*rows + 1, sizeof(*in_row)), count = 0;
	uint32_t node, row;

	walk->depth = 0;
	for (node = in_row ? walk_next(walk) : 0; node;) {
		bool wide = flamegraph_weight(g, node) >= g->least && walk->depth < *rows;

		in_row[walk->depth < *rows ? walk->depth : *rows] += wide;
		node = wide ? walk_next(walk) : walk_over(walk);
	}
	for (row = 1; in_row && row < *rows && count + in_row[row] <= FRAMES_DRAWN_MAX; row++)
		count += in_row[row];
	free(in_row);
	*rows = row;
	return count;
}

static int flamegraph_choose(struct flamegraph *g)
{
	uint64_t pixel;
	uint32_t rows;
	struct walk walk;
	int error = walk_init(&walk, g->tree);

	g->total = g->tree->count ? flamegraph_weight(g, 0) : 0;
	pixel = g->total / g->width;
	g->least = pixel * NARROWEST_TENTHS / 10;
	g->least = g->least ? g->least : 1;
	g->floor = 1;
	if (!error) {
		g->drawn = raise_least(g, &walk, FRAMES_DRAWN_MAX, pixel, &g->least, &g->rows);
		if (g->drawn > FRAMES_DRAWN_MAX)
			g->drawn = cut_rows(g, &walk, &g->rows);
		g->kept = raise_least(g, &walk, FRAMES_KEPT_MAX, UINT64_MAX, &g->floor, &rows);
		if (g->kept < g->drawn) {
			g->floor = g->least;
			g->kept = g->drawn;
		}
	}
	g->hidden = g->tree->count ? g->tree->count - 1 - g->kept : 0;
	walk_done(&walk);
	return error;
}

/* ---- surroundings ---- */

static void put_style(struct buf *out)
{
	buf_string(out, "<style><![CDATA[\n");
	buf_append(out, flamegraph_style, sizeof(flamegraph_style));
	flamegraph_put_colours(out);
	buf_string(out, "\n]]></style>\n");
}

static void flamegraph_put_line(struct buf *out, const char *class, unsigned y, const char *text,
				size_t most)
{
	buf_printf(out, "<text class=\"%s\" x=\"1%%\" y=\"%u\">", class, y);
	put_markup_cut(out, text, most);
	buf_string(out, "</text>\n");
}

/* Returns the number of characters of the title that fit beside the tools. The recording holds the
 * whole title. */
static size_t title_room(const struct flamegraph *g)
{
	return g->width > TOOLS_PIXELS + 200 ? (g->width - TOOLS_PIXELS) / TITLE_CHARACTER_PIXELS
					     : 20;
}

static void put_sides(struct flamegraph *g)
{
	const struct tree_change *c = g->options->changes;

	buf_string(g->out, "before ");
	flamegraph_put_amount(g->out, c->base_bytes, c->base_blocks);
	buf_string(g->out, ", now ");
	flamegraph_put_amount(g->out, c->now_bytes, c->now_blocks);
}

/* Writes the line about the frame under the mouse. Initially it describes the whole. */
static void put_detail(struct flamegraph *g)
{
	struct buf *out = g->out;
	char count[32];

	buf_string(out, "<text class=\"detail\" id=\"detail\" x=\"1%\" y=\"74\">");
	if (g->total && g->options->changes)
		put_sides(g);
	else if (g->total)
		flamegraph_put_amount(out, g->tree->nodes[0].bytes, g->tree->nodes[0].blocks);
	else
		buf_string(out, "nothing to show: no allocation matches");
	if (g->hidden) {
		buf_printf(out, "; %s %s below ", format_count(count, g->hidden),
			   g->hidden == 1 ? "frame" : "frames");
		flamegraph_put_percent(out, g->floor, g->total, 3);
		buf_string(out, g->rows == ROWS_MAX ? " % or too deep left out" : " % left out");
	}
	buf_string(out, "</text>\n");
}

/* Writes the tools hidden. The script shows them, because they need it. */
static void put_tools(struct buf *out)
{
	buf_string(out, "<foreignObject id=\"tools\" class=\"hidden\" x=\"40%\" y=\"8\" "
			"width=\"59%\" height=\"30\">"
			"<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"tools\"><span "
			"id=\"matched\" class=\"matched\"></span>"
			"<input id=\"search\" type=\"text\" placeholder=\"search (regex, Ctrl-F)\" "
			"spellcheck=\"false\" />"
			"<button id=\"clear\" disabled=\"disabled\">clear</button>"
			"<button id=\"reset\" disabled=\"disabled\">reset "
			"zoom</button></div></foreignObject>\n");
}

static void flamegraph_put_start(struct flamegraph *g, unsigned height)
{
	struct buf *out = g->out;

	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		   "xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
		   "height=\"%u\"%s%s%s>\n",
		   g->width, height, g->options->width ? "" : " data-fluid=\"\"",
		   g->options->inverted ? "" : " data-upwards=\"\"",
		   g->options->changes ? " data-changes=\"\"" : "");
	put_incomplete_line(out, "<!-- ", g->options->incomplete, " -->\n");
	put_style(out);
	buf_string(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
}

/* Writes what is missing first. */
static void put_subtitle(struct flamegraph *g)
{
	const struct flamegraph_options *o = g->options;
	cleanup(buf_done) struct buf text = {0};

	put_incomplete_line(&text, "", o->incomplete, o->subtitle ? " " : "");
	if (o->subtitle)
		buf_string(&text, o->subtitle);
	if (text.length && buf_text(&text))
		flamegraph_put_line(g->out, "sub", 50, buf_text(&text), SIZE_MAX);
}

/* Writes the head behind the frames in the file, so that it is drawn over them. The script keeps it
 * in sight. */
static void flamegraph_put_head(struct flamegraph *g)
{
	const struct flamegraph_options *o = g->options;
	struct buf *out = g->out;

	buf_printf(out, "<g id=\"head\"><rect class=\"page\" width=\"100%%\" height=\"%u\"/>\n",
		   flamegraph_y(g, g->options->inverted ? 0 : g->rows - 1) - 4);
	flamegraph_put_line(out, "title", 28, o->title ? o->title : "heapcast", title_room(g));
	put_subtitle(g);
	put_detail(g);
	put_tools(out);
	buf_string(out, "</g>\n");
}

int export_flamegraph(const struct tree *tree, const struct flamegraph_options *options,
		      struct buf *out, struct err_text *err)
{
	struct flamegraph g = {
		.tree = tree,
		.options = options,
		.out = out,
		.width = options->width ? options->width : DEFAULT_WIDTH,
	};
	unsigned height;
	int error = flamegraph_choose(&g);

	if (error)
		return err_set(err, error, "no memory for the flame graph");
	height = flamegraph_y(&g, g.options->inverted ? g.rows : 0) +
		 (g.options->inverted ? 0 : ROW_PIXELS) + FOOT_PIXELS;
	flamegraph_put_start(&g, height);
	buf_printf(
		out,
		"<svg id=\"frames\" x=\"1%%\" width=\"98%%\" height=\"%u\" overflow=\"visible\">\n",
		height);
	if (g.total)
		error = flamegraph_put_frames(&g);
	buf_string(out, "</svg>\n");
	flamegraph_put_legend(&g, height - 12);
	flamegraph_put_head(&g);
	flamegraph_finish_more(&g);
	buf_string(out, "<script><![CDATA[\n");
	buf_append(out, flamegraph_script, sizeof(flamegraph_script));
	buf_string(out, "]]></script>\n</svg>\n");
	error = error ? error : buf_error(out);
	buf_done(&g.more);
	intern_done(&g.texts);
	return error ? err_set(err, error, "no memory for the flame graph") : 0;
}

int export_reverse(struct tree *tree, enum export_weight weight)
{
	struct tree reversed = {0};
	bool bytes = weight == EXPORT_BYTES;
	uint64_t least =
		(bytes ? tree->nodes[0].bytes : tree->nodes[0].blocks) / REVERSED_PARTS + 1;
	int r = tree_reversed(tree, bytes ? least : UINT64_MAX, bytes ? UINT64_MAX : least,
			      UINT32_MAX, &reversed);

	if (!r) {
		tree_done(tree);
		*tree = reversed;
	}
	return r;
}
