/*
 * The flame graph: one SVG file that explains itself. See export.h.
 *
 *   +--------------------------------------------------+
 *   | title                            [search] [reset]|   head: title, subtitle, what the mouse is on
 *   | subtitle                                         |
 *   |            [ malloc ]                            |
 *   |      [ parse        ][ read ]                    |   a row a depth, roots below (inverted: on top)
 *   | [ main                                        ]  |
 *   | [ all                                         ]  |
 *   | # program  # libc.so.6                           |   colours: one a module, shades by function
 *   +--------------------------------------------------+
 *
 * A frame is an <svg> of its own with x and width in percent, so that it scales with the window and clips its text without any
 * script; the script (flamegraph.js) needs only these attributes and the titles. Frames too narrow to be seen are left out and
 * counted: the size of the file is bounded, whatever the tree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "collector/export/export.h"
#include "collector/export/walk.h"
#include "collector/query/query.h"
#include "flamegraph-assets.h"

#include "base/ban.h"

#define DEFAULT_WIDTH	       1200
#define NARROWEST_TENTHS       3 /* tenths of a pixel at that width */
#define FRAMES_DRAWN_MAX       20000
#define ROWS_MAX	       1000
#define ROW_PIXELS	       17
#define TOOLS_PIXELS	       400 /* search field and buttons, with what was matched */
#define TITLE_CHARACTER_PIXELS 11
#define HEAD_PIXELS	       88
#define FOOT_PIXELS	       34
#define CHARACTER_WIDTH	       6.63 /* of 11 px monospace; as in flamegraph.js */
#define LABEL_FROM	       24   /* pixels */
#define THIN_BELOW	       3    /* pixels: a gap to the neighbours would leave nothing */
#define HUES		       10
#define SHADES		       3
#define LEGEND_MAX	       6

static const char *const hues[HUES + 1][SHADES] = {
	{"#e9cba4", "#efd7b6", "#e2be91"}, {"#a9c6e0", "#bdd3e8", "#97b8d6"},
	{"#b5d2a8", "#c6dcbc", "#a3c594"}, {"#e3b5b1", "#ebc6c3", "#d9a39e"},
	{"#c7b9de", "#d4c9e7", "#b9a9d4"}, {"#a6d1cb", "#badcd7", "#92c5be"},
	{"#ded391", "#e7dea8", "#d3c77c"}, {"#ddb89e", "#e6c8b3", "#d3a88a"},
	{"#bcc3cf", "#cbd0da", "#adb5c3"}, {"#d0dba0", "#dbe4b5", "#c4d18b"},
	{"#d9d9d6", "#e1e1de", "#d1d1ce"}, /* the last: in no module */
};

struct flamegraph {
	const struct tree *tree;
	const struct flamegraph_options *options;
	struct buf *out;
	uint64_t total, least; /* of the weight; frames below `least` are not drawn */
	uint32_t width, rows;
	size_t drawn, hidden;
	const char *modules[HUES]; /* by hue */
	unsigned module_count;
};

/* ---- text ---- */

/* What XML 1.0 may not hold at all, or what a screen should not. */
static bool is_text(uint32_t code)
{
	return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && (code & 0xfffe) != 0xfffe;
}

/* Appends text that no markup survives in. At most `most` characters, the last one an ellipsis if there are more. */
static void put_text_cut(struct buf *out, const char *text, size_t most)
{
	size_t left = strlen(text), done = 0, n;
	uint32_t code;

	for (; left; text += n, left -= n, done++) {
		if (done + 1 >= most && left > 1) {
			buf_string(out, "\xe2\x80\xa6");
			return;
		}
		n = utf8_next(text, left, &code);
		if (!n || !is_text(code))
			buf_string(out, UTF8_REPLACEMENT);
		else if (code == '<')
			buf_string(out, "&lt;");
		else if (code == '>')
			buf_string(out, "&gt;");
		else if (code == '&')
			buf_string(out, "&amp;");
		else if (code == '"')
			buf_string(out, "&quot;");
		else if (code == '\'')
			buf_string(out, "&#39;");
		else
			buf_append(out, text, n);
		n = n ? n : 1;
	}
}

static void put_text(struct buf *out, const char *text)
{
	put_text_cut(out, text, SIZE_MAX);
}

/* `part` of `whole` in percent, with four digits, whatever the locale. */
static void put_percent(struct buf *out, uint64_t part, uint64_t whole, unsigned digits)
{
	unsigned scale = 1;
	unsigned __int128 value;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	value = whole ? ((unsigned __int128)part * 100 * scale + whole / 2) / whole : 0;
	buf_printf(out, "%llu.%0*llu", (unsigned long long)(value / scale), (int)digits,
		   (unsigned long long)(value % scale));
}

static void put_amount(struct buf *out, uint64_t bytes, uint64_t blocks)
{
	char size[32], exact[32], count[32];

	buf_printf(out, "%s (%s bytes) in %s %s", format_size(size, (double)bytes),
		   format_count(exact, bytes), format_count(count, blocks),
		   blocks == 1 ? "block" : "blocks");
}

/* ---- colours ---- */

static unsigned hue_of(struct flamegraph *g, const char *module)
{
	unsigned hash = 0;

	if (!module || !*module)
		return HUES;
	for (unsigned i = 0; i < g->module_count; i++)
		if (!strcmp(g->modules[i], module))
			return i;
	if (g->module_count < HUES) {
		g->modules[g->module_count] = module;
		return g->module_count++;
	}
	while (*module)
		hash = hash * 31 + (uint8_t)*module++;
	return hash % HUES;
}

static unsigned shade_of(const char *function)
{
	unsigned hash = 2166136261u;

	while (function && *function)
		hash = (hash ^ (uint8_t)*function++) * 16777619u;
	return (hash >> 7) % SHADES;
}

/* ---- frames ---- */

static uint64_t weight_of(const struct flamegraph *g, uint32_t node)
{
	const struct tree_node *n = &g->tree->nodes[node];

	return g->options->weight == EXPORT_BYTES ? n->bytes : n->blocks;
}

static uint32_t y_of(const struct flamegraph *g, uint32_t row)
{
	return HEAD_PIXELS + ROW_PIXELS * (g->options->inverted ? row : g->rows - 1 - row);
}

static void put_title(struct flamegraph *g, uint32_t node, const char *name)
{
	const struct tree_node *n = &g->tree->nodes[node];
	struct buf *out = g->out;

	buf_string(out, "<title>");
	put_text(out, name);
	if (n->module && *n->module) {
		buf_byte(out, '\n');
		put_text(out, n->module);
	}
	if (n->file) {
		buf_byte(out, '\n');
		put_text(out, n->file);
		buf_printf(out, ":%u", n->line);
	}
	buf_byte(out, '\n');
	put_amount(out, n->bytes, n->blocks);
	buf_byte(out, '\n');
	put_percent(out, weight_of(g, node), g->total, 2);
	buf_string(out, " %</title>");
}

static void put_frame(struct flamegraph *g, uint32_t node, uint32_t row, uint64_t from)
{
	const struct tree_node *n = &g->tree->nodes[node];
	const char *name = !node ? "all" : n->function ? n->function : "[unknown]";
	uint64_t weight = weight_of(g, node);
	double pixels = (double)weight * g->width * 0.98 / (double)g->total;
	struct buf *out = g->out;

	buf_printf(out, "<svg class=\"%s\" y=\"%u\" height=\"%u\" data-row=\"%u\" x=\"",
		   pixels < THIN_BELOW ? "f thin" : "f", y_of(g, row), ROW_PIXELS, row);
	put_percent(out, from, g->total, 4);
	buf_string(out, "%\" width=\"");
	put_percent(out, weight, g->total, 4);
	buf_string(out, "%\">");
	put_title(g, node, name);
	buf_printf(out, "<rect width=\"100%%\" height=\"%u\" class=\"c%u%u\"/>", ROW_PIXELS - 1,
		   node ? hue_of(g, n->module) : HUES, shade_of(n->function));
	if (pixels >= LABEL_FROM) {
		buf_string(out, "<text x=\"3\" y=\"12\">");
		put_text_cut(out, name, (size_t)((pixels - 4) / CHARACTER_WIDTH));
		buf_string(out, "</text>");
	}
	buf_string(out, "</svg>\n");
}

/* Where each row's next frame begins: at its parent's begin, then behind its sibling. */
static int put_frames(struct flamegraph *g)
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
		put_frame(g, 0, 0, 0);
	for (node = error ? 0 : walk_next(&walk); node;) {
		uint64_t weight = weight_of(g, node);

		if (weight >= g->least && walk.depth < g->rows) {
			put_frame(g, node, walk.depth, next[walk.depth]);
			next[walk.depth + 1] = next[walk.depth];
			next[walk.depth] += weight;
			node = walk_next(&walk);
		} else {
			next[walk.depth] += weight;
			node = walk_over(&walk);
		}
	}
	free(next);
	walk_done(&walk);
	return error;
}

/* ---- what will be drawn ---- */

static uint32_t count_drawn(const struct flamegraph *g, struct walk *walk, size_t *ret_count)
{
	uint32_t node, rows = 0;

	*ret_count = 0;
	walk->depth = 0;
	for (node = walk_next(walk); node;) {
		if (weight_of(g, node) < g->least || walk->depth >= ROWS_MAX) {
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

static int choose(struct flamegraph *g)
{
	struct walk walk;
	int error = walk_init(&walk, g->tree);

	g->total = g->tree->count ? weight_of(g, 0) : 0;
	g->least = g->total / g->width * NARROWEST_TENTHS / 10;
	if (!g->least)
		g->least = 1;
	while (!error) {
		g->rows = count_drawn(g, &walk, &g->drawn);
		if (g->drawn <= FRAMES_DRAWN_MAX)
			break;
		g->least += g->least / 2 + 1;
	}
	g->hidden = g->tree->count ? g->tree->count - 1 - g->drawn : 0;
	walk_done(&walk);
	return error;
}

/* ---- around ---- */

static void put_style(struct buf *out)
{
	buf_string(out, "<style><![CDATA[\n");
	buf_append(out, flamegraph_style, sizeof(flamegraph_style));
	for (unsigned hue = 0; hue <= HUES; hue++)
		for (unsigned shade = 0; shade < SHADES; shade++)
			buf_printf(out, ".c%u%u{fill:%s}", hue, shade, hues[hue][shade]);
	buf_string(out, "\n]]></style>\n");
}

static void put_line(struct buf *out, const char *class, unsigned y, const char *text, size_t most)
{
	buf_printf(out, "<text class=\"%s\" x=\"1%%\" y=\"%u\">", class, y);
	put_text_cut(out, text, most);
	buf_string(out, "</text>\n");
}

/* Characters of the title that fit beside the tools; the whole of it is in the recording. */
static size_t title_room(const struct flamegraph *g)
{
	return g->width > TOOLS_PIXELS + 200 ? (g->width - TOOLS_PIXELS) / TITLE_CHARACTER_PIXELS
					     : 20;
}

/* The line that shows what the mouse is on, and before that what all is about. */
static void put_detail(struct flamegraph *g)
{
	struct buf *out = g->out;
	char count[32];

	buf_string(out, "<text class=\"detail\" id=\"detail\" x=\"1%\" y=\"74\">");
	if (g->total)
		put_amount(out, g->tree->nodes[0].bytes, g->tree->nodes[0].blocks);
	else
		buf_string(out, "nothing to show: no allocation matches");
	if (g->hidden) {
		buf_printf(out, "; %s %s below ", format_count(count, g->hidden),
			   g->hidden == 1 ? "frame" : "frames");
		put_percent(out, g->least, g->total, 3);
		buf_string(out, g->rows == ROWS_MAX ? " % or too deep left out" : " % left out");
	}
	buf_string(out, "</text>\n");
}

/* Shown by the script: without one there is nothing that they could do. */
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

static void put_legend(struct flamegraph *g, unsigned y)
{
	unsigned x = g->width / 100;

	for (unsigned i = 0; i < g->module_count && i < LEGEND_MAX; i++) {
		const char *slash = strrchr(g->modules[i], '/');
		const char *name = slash && slash[1] ? slash + 1 : g->modules[i];
		size_t length = strlen(name);

		buf_printf(g->out,
			   "<rect class=\"c%u0\" x=\"%u\" y=\"%u\" width=\"11\" height=\"11\"/>", i,
			   x, y - 10);
		buf_printf(g->out, "<text class=\"note\" x=\"%u\" y=\"%u\">", x + 16, y);
		put_text_cut(g->out, name, 28);
		buf_string(g->out, "</text>\n");
		x += 34 + (unsigned)(length < 28 ? length : 28) * 7;
	}
}

static void put_start(struct flamegraph *g, unsigned height)
{
	struct buf *out = g->out;

	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		   "xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
		   "height=\"%u\"%s%s>\n",
		   g->width, height, g->options->width ? "" : " data-fluid=\"\"",
		   g->options->inverted ? "" : " data-upwards=\"\"");
	put_style(out);
	buf_string(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
}

/* Comes after the frames and so lies over them: the script keeps it in sight. */
static void put_head(struct flamegraph *g)
{
	const struct flamegraph_options *o = g->options;
	struct buf *out = g->out;

	buf_printf(out, "<g id=\"head\"><rect class=\"page\" width=\"100%%\" height=\"%u\"/>\n",
		   HEAD_PIXELS - 4);
	put_line(out, "title", 28, o->title ? o->title : "heapcast", title_room(g));
	if (o->subtitle)
		put_line(out, "sub", 50, o->subtitle, SIZE_MAX);
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
	int error = choose(&g);

	if (error)
		return err_set(err, error, "no memory for the flame graph");
	height = HEAD_PIXELS + g.rows * ROW_PIXELS + FOOT_PIXELS;
	put_start(&g, height);
	buf_printf(out, "<svg id=\"frames\" x=\"1%%\" width=\"98%%\" height=\"%u\">\n", height);
	if (g.total)
		error = put_frames(&g);
	buf_string(out, "</svg>\n");
	put_legend(&g, height - 12);
	put_head(&g);
	buf_string(out, "<script><![CDATA[\n");
	buf_append(out, flamegraph_script, sizeof(flamegraph_script));
	buf_string(out, "]]></script>\n</svg>\n");
	error = error ? error : buf_error(out);
	return error ? err_set(err, error, "no memory for the flame graph") : 0;
}
