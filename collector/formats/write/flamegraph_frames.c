/*
 * Writes the frames of the flame graph, as elements and as numbers for the script. A frame that is
 * too narrow to be visible initially is a row of numbers in <metadata id="more">: JSON, {"total":
 * W, "texts": [...], "frames": [ROW, FROM, WEIGHT, COLOUR, NAME, MODULE, FILE, LINE, BYTES, BLOCKS
 * (, BASE BYTES, BASE BLOCKS, NEW BYTES, NEW BLOCKS), ...]}. Texts are numbered from 0, and the
 * first is empty.
 *
 * Colours show modules, with shades by function. In a difference they go from blue (shrunk) to red
 * (grown).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "collector/formats/write/flamegraph_parts.h"
#include "collector/formats/write/put.h"

#include "base/ban.h"

#define HEAD_PIXELS	88
#define CHARACTER_WIDTH 6.63 /* of 11 px monospace; same as in flamegraph.js */
#define LABEL_FROM	36   /* pixels */
#define THIN_BELOW	3    /* pixels: with a gap to its neighbours nothing would be left */
#define LEGEND_MAX	6
#define SAME		(CHANGES / 2)
#define CLASS_MAX	8

static const char *const hues[HUES + 1][SHADES] = {
	{"#e9cba4", "#efd7b6", "#e2be91"}, {"#a9c6e0", "#bdd3e8", "#97b8d6"},
	{"#b5d2a8", "#c6dcbc", "#a3c594"}, {"#e3b5b1", "#ebc6c3", "#d9a39e"},
	{"#c7b9de", "#d4c9e7", "#b9a9d4"}, {"#a6d1cb", "#badcd7", "#92c5be"},
	{"#ded391", "#e7dea8", "#d3c77c"}, {"#ddb89e", "#e6c8b3", "#d3a88a"},
	{"#bcc3cf", "#cbd0da", "#adb5c3"}, {"#d0dba0", "#dbe4b5", "#c4d18b"},
	{"#d9d9d6", "#e1e1de", "#d1d1ce"}, /* the last one: no module */
};

static const char *const changes[CHANGES] = {"#5e93d1", "#84aedd", "#a9c7e8", "#cddff2", "#e6e6e3",
					     "#f6d6cf", "#f0b3a8", "#e88d80", "#dc6458"};

/* Appends `part` of `whole` in percent, with `digits` decimals, independent of the locale. */
void flamegraph_put_percent(struct buf *out, uint64_t part, uint64_t whole, unsigned digits)
{
	unsigned scale = 1;
	unsigned __int128 value;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	value = whole ? ((unsigned __int128)part * 100 * scale + whole / 2) / whole : 0;
	buf_printf(out, "%llu.%0*llu", (unsigned long long)(value / scale), (int)digits,
		   (unsigned long long)(value % scale));
}

void flamegraph_put_amount(struct buf *out, uint64_t bytes, uint64_t blocks)
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

/* Returns the colour of a change, by its share of the larger side. A complete change gets the last
 * colour. */
static unsigned change_of(uint64_t base, uint64_t now)
{
	uint64_t most = base > now ? base : now;
	double part = most ? ((double)now - (double)base) / (double)most : 0;
	int step = (int)(part * SAME + (part < 0 ? -0.5 : 0.5));

	if (!step && base != now)
		step = now > base ? 1 : -1;
	return (unsigned)(SAME + step);
}

static const char *class_of(struct flamegraph *g, uint32_t node, char out[CLASS_MAX])
{
	const struct tree_node *n = &g->tree->nodes[node];
	const struct tree_change *c = g->options->changes;
	bool bytes = g->options->weight == EXPORT_BYTES;

	if (c)
		snprintf(out, CLASS_MAX, "d%u",
			 change_of(bytes ? c[node].base_bytes : c[node].base_blocks,
				   bytes ? c[node].now_bytes : c[node].now_blocks));
	else
		snprintf(out, CLASS_MAX, "c%u%u", node ? hue_of(g, n->module) : HUES,
			 shade_of(n->function));
	return out;
}

void flamegraph_put_colours(struct buf *out)
{
	for (unsigned hue = 0; hue <= HUES; hue++)
		for (unsigned shade = 0; shade < SHADES; shade++)
			buf_printf(out, ".c%u%u{fill:%s}", hue, shade, hues[hue][shade]);
	for (unsigned i = 0; i < CHANGES; i++)
		buf_printf(out, ".d%u{fill:%s}", i, changes[i]);
}

/* ---- frames ---- */

uint32_t flamegraph_y(const struct flamegraph *g, uint32_t row)
{
	return HEAD_PIXELS + ROW_PIXELS * (g->options->inverted ? row : g->rows - 1 - row);
}

static const char *flamegraph_frames_name_of(const struct flamegraph *g, uint32_t node)
{
	const char *name = g->tree->nodes[node].function;

	return !node ? "all" : name ? name : "[unknown]";
}

/* Appends the frame's numbers. In a difference, these include the base and the change. */
static void put_numbers(struct flamegraph *g, uint32_t node)
{
	const struct tree_node *n = &g->tree->nodes[node];
	const struct tree_change *c = g->options->changes ? &g->options->changes[node] : NULL;
	bool grown = c && c->now_bytes >= c->base_bytes;
	char size[32];

	if (!c) {
		flamegraph_put_amount(g->out, n->bytes, n->blocks);
		buf_byte(g->out, '\n');
		flamegraph_put_percent(g->out, flamegraph_weight(g, node), g->total, 2);
		buf_string(g->out, " %");
		return;
	}
	format_size(size,
		    (double)(grown ? c->now_bytes - c->base_bytes : c->base_bytes - c->now_bytes));
	buf_printf(g->out, "%c%s\nnow ", grown ? '+' : '-', size);
	flamegraph_put_amount(g->out, c->now_bytes, c->now_blocks);
	buf_string(g->out, "\nbefore ");
	flamegraph_put_amount(g->out, c->base_bytes, c->base_blocks);
}

static void put_title(struct flamegraph *g, uint32_t node, const char *name)
{
	const struct tree_node *n = &g->tree->nodes[node];
	struct buf *out = g->out;

	buf_string(out, "<title>");
	put_markup(out, name);
	if (n->module && *n->module) {
		buf_byte(out, '\n');
		put_markup(out, n->module);
	}
	if (n->file) {
		buf_byte(out, '\n');
		put_markup(out, n->file);
		buf_printf(out, ":%u", n->line);
	}
	buf_byte(out, '\n');
	put_numbers(g, node);
	buf_string(out, "</title>");
}

void flamegraph_put_frame(struct flamegraph *g, uint32_t node, uint32_t row, uint64_t from)
{
	const char *name = flamegraph_frames_name_of(g, node);
	uint64_t weight = flamegraph_weight(g, node);
	double pixels = (double)weight * g->width * 0.98 / (double)g->total;
	uint32_t y = flamegraph_y(g, row);
	struct buf *out = g->out;
	char class[CLASS_MAX];

	buf_printf(out, "<g class=\"%s\" data-row=\"%u\" data-from=\"%llu\" data-weight=\"%llu\">",
		   pixels < THIN_BELOW ? "f thin" : "f", row, (unsigned long long)from,
		   (unsigned long long)weight);
	put_title(g, node, name);
	buf_string(out, "<rect x=\"");
	flamegraph_put_percent(out, from, g->total, 4);
	buf_string(out, "%\" width=\"");
	flamegraph_put_percent(out, weight, g->total, 4);
	buf_printf(out, "%%\" y=\"%u\" height=\"%u\" class=\"%s\"/>", y, ROW_PIXELS - 1,
		   class_of(g, node, class));
	if (pixels >= LABEL_FROM) {
		buf_string(out, "<text x=\"");
		flamegraph_put_percent(out, from, g->total, 4);
		buf_printf(out, "%%\" dx=\"3\" y=\"%u\">", y + 12);
		put_markup_cut(out, name, (size_t)((pixels - 4) / CHARACTER_WIDTH));
		buf_string(out, "</text>");
	}
	buf_string(out, "</g>\n");
}

/* ---- frames for the script ---- */

static void put_text_number(struct flamegraph *g, const char *text)
{
	uint32_t number = text && *text ? intern_text(&g->texts, text) : 0;

	if (text && *text && !number)
		g->more.error = -ENOMEM;
	buf_printf(&g->more, ",%u", number);
}

void flamegraph_put_more(struct flamegraph *g, uint32_t node, uint32_t row, uint64_t from)
{
	const struct tree_node *n = &g->tree->nodes[node];
	const struct tree_change *c = g->options->changes ? &g->options->changes[node] : NULL;
	char class[CLASS_MAX];

	buf_printf(&g->more, "%s%u,%llu,%llu", g->more_count++ ? "," : "", row,
		   (unsigned long long)from, (unsigned long long)flamegraph_weight(g, node));
	put_text_number(g, class_of(g, node, class));
	put_text_number(g, flamegraph_frames_name_of(g, node));
	put_text_number(g, n->module);
	put_text_number(g, n->file);
	buf_printf(&g->more, ",%u,%llu,%llu", n->line, (unsigned long long)n->bytes,
		   (unsigned long long)n->blocks);
	if (c)
		buf_printf(&g->more, ",%llu,%llu,%llu,%llu", (unsigned long long)c->base_bytes,
			   (unsigned long long)c->base_blocks, (unsigned long long)c->now_bytes,
			   (unsigned long long)c->now_blocks);
}

/* Appends a JSON string without '<' or other markup. */
static void put_json_text(struct buf *out, const char *text)
{
	size_t left = strlen(text), n;
	uint32_t code;

	buf_byte(out, '"');
	for (; left; text += n, left -= n) {
		n = utf8_next(text, left, &code);
		if (!n || !utf8_shows(code) || (code & 0xfffe) == 0xfffe)
			buf_string(out, UTF8_REPLACEMENT);
		else if (strchr("\"\\<>&'", (int)(code < 0x80 ? code : 'x')))
			buf_printf(out, "\\u%04x", code);
		else
			buf_append(out, text, n);
		n = n ? n : 1;
	}
	buf_byte(out, '"');
}

void flamegraph_finish_more(struct flamegraph *g)
{
	buf_printf(g->out, "<metadata id=\"more\">{\"total\":%llu,\"texts\":[\"\"",
		   (unsigned long long)g->total);
	for (uint32_t i = 1; i <= g->texts.count; i++) {
		buf_byte(g->out, ',');
		put_json_text(g->out, intern_get(&g->texts, i));
	}
	buf_string(g->out, "],\"frames\":[");
	buf_append(g->out, g->more.data, g->more.length);
	buf_string(g->out, "]}</metadata>\n");
	if (buf_error(&g->more))
		g->out->error = buf_error(&g->more);
}

/* ---- legend ---- */

static void put_legend_name(const struct flamegraph *g, const char *class, const char *name,
			    unsigned x, unsigned y)
{
	buf_printf(g->out, "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"11\" height=\"11\"/>",
		   class, x, y - 10);
	buf_printf(g->out, "<text class=\"note\" x=\"%u\" y=\"%u\">", x + 16, y);
	put_markup_cut(g->out, name, 28);
	buf_string(g->out, "</text>\n");
}

static void put_change_legend(const struct flamegraph *g, unsigned y)
{
	static const struct {
		const char *class, *name;
	} names[] = {{"d0", "all of it has gone"},
		     {"d2", "shrunk"},
		     {"d4", "the same"},
		     {"d6", "grown"},
		     {"d8", "all of it is new"}};
	unsigned x = g->width / 100;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put_legend_name(g, names[i].class, names[i].name, x, y);
		x += 34 + (unsigned)strlen(names[i].name) * 7;
	}
}

void flamegraph_put_legend(const struct flamegraph *g, unsigned y)
{
	unsigned x = g->width / 100;

	buf_string(g->out, "<g id=\"legend\">\n");
	if (g->options->changes)
		put_change_legend(g, y);
	for (unsigned i = 0; !g->options->changes && i < g->module_count && i < LEGEND_MAX; i++) {
		const char *slash = strrchr(g->modules[i], '/');
		const char *name = slash && slash[1] ? slash + 1 : g->modules[i];
		size_t length = strlen(name);
		char class[CLASS_MAX];

		snprintf(class, sizeof(class), "c%u0", i);
		put_legend_name(g, class, name, x, y);
		x += 34 + (unsigned)(length < 28 ? length : 28) * 7;
	}
	buf_string(g->out, "</g>\n");
}
