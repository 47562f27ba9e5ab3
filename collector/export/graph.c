/* A timeline as a picture: what was in use, from the lowest to the highest of each point, over time. SVG, without a script. */
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/export/export.h"
#include "collector/export/put.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define WIDTH	    1024
#define HEIGHT	    768
#define MARGIN	    60 /* for the axes' texts; none in a small picture */
#define SMALL_BELOW 500

struct graph {
	const struct timeline *timeline;
	enum export_weight weight;
	double left, top, width, height; /* of the drawing, pixels */
	uint64_t most;
	struct buf *out;
};

static uint64_t high(const struct graph *g, uint32_t i)
{
	const struct timeline_bucket *b = &g->timeline->list[i];

	return g->weight == EXPORT_BYTES ? b->bytes_max : b->blocks_max;
}

static uint64_t low(const struct graph *g, uint32_t i)
{
	const struct timeline_bucket *b = &g->timeline->list[i];

	return g->weight == EXPORT_BYTES ? b->bytes_min : b->blocks_min;
}

static void put_point(struct graph *g, double at, uint64_t value)
{
	buf_printf(g->out, "%.1f,%.1f ", g->left + at * g->width,
		   g->top + g->height * (1 - (g->most ? (double)value / (double)g->most : 0)));
}

/* Steps along the highest values; back along the axis, or along the lowest. */
static void put_shape(struct graph *g, const char *fill, bool to_axis)
{
	uint32_t count = g->timeline->count;

	buf_printf(g->out, "<polygon fill=\"%s\" points=\"", fill);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = to_axis ? low(g, i) : high(g, i);

		put_point(g, (double)i / count, value);
		put_point(g, (double)(i + 1) / count, value);
	}
	for (uint32_t i = count; i-- > 0;) {
		uint64_t value = to_axis ? 0 : low(g, i);

		put_point(g, (double)(i + 1) / count, value);
		put_point(g, (double)i / count, value);
	}
	buf_string(g->out, "\"/>\n");
}

static void put_text(struct graph *g, double x, double y, const char *anchor, const char *text)
{
	buf_printf(g->out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x, y,
		   anchor, text);
}

static void put_axes(struct graph *g)
{
	double bottom = g->top + g->height, right = g->left + g->width;
	char text[32];

	buf_printf(g->out, "<path fill=\"none\" stroke=\"#888\" d=\"M%.0f %.0fV%.0fH%.0f\"/>\n",
		   g->left, g->top, bottom, right);
	for (int i = 0; i <= 4; i++) {
		uint64_t value = g->most / 4 * (uint64_t)i + g->most % 4 * (uint64_t)i / 4;
		uint64_t time = g->timeline->from_ns +
				(g->timeline->to_ns - g->timeline->from_ns) / 4 * (uint64_t)i;

		if (g->weight == EXPORT_BYTES)
			format_size(text, (double)value);
		else
			format_count(text, value);
		put_text(g, g->left - 4, bottom - g->height * i / 4 + 4, "end", text);
		put_text(g, g->left + g->width * i / 4, bottom + 16, i == 4 ? "end" : "middle",
			 format_duration(text, time));
	}
}

int export_graph(const struct timeline *timeline, const struct graph_options *options,
		 struct buf *out, struct err_text *err)
{
	uint32_t width = options->width ? options->width : WIDTH,
		 height = options->height ? options->height : HEIGHT;
	bool small = width < SMALL_BELOW;
	double margin = small ? 2 : MARGIN;
	struct graph g = {
		.timeline = timeline,
		.weight = options->weight,
		.left = margin * (small ? 1 : 1.5),
		.top = margin / 2,
		.width = width - margin * 2,
		.height = height - margin * 1.5,
		.out = out,
	};

	for (uint32_t i = 0; i < timeline->count; i++)
		g.most = high(&g, i) > g.most ? high(&g, i) : g.most;
	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" "
		   "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" "
		   "height=\"100%%\" fill=\"#fff\"/>\n",
		   width, height, width, height);
	put_incomplete_line(out, "<!-- ", options->incomplete, " -->\n");
	if (timeline->count) {
		put_shape(&g, "#5a9bd4", true);
		put_shape(&g, "#d65f5f", false);
	}
	if (!small)
		put_axes(&g);
	if (!small && options->incomplete && options->incomplete[0])
		put_text(&g, g.left, g.top - 4, "start", options->incomplete);
	buf_string(out, "</svg>\n");
	return buf_error(out) ? err_set(err, buf_error(out), "out of memory") : 0;
}
