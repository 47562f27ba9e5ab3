/* Draws a timeline as SVG without a script: the memory in use over time, from the lowest to the
 * highest value of each point. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "collector/formats/write/put.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define WIDTH	    1024
#define HEIGHT	    768
#define MARGIN	    60 /* room for the axes' texts; none in a small picture */
#define SMALL_BELOW 500
#define LINE	    16 /* height of a line in the legend */
#define LETTER	    6  /* width of a letter */

/* Colours from the lowest band up. The last band is grey. */
static const char *const band_colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
					   "#56b4e9", "#d55e00", "#f0e442", "#8c564b"};
#define BAND_COLOURS (sizeof(band_colours) / sizeof(band_colours[0]))

struct graph {
	const struct timeline *timeline;
	enum export_weight weight;
	double left, top, width, height; /* the drawing's place in pixels */
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

/* Draws along the highest values, and back along the axis or along the lowest values. */
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

/* ---- bands ---- */

static const char *colour_of(const struct series_list *series, uint32_t k)
{
	return series->list[k].is_rest ? "#bbbbbb" : band_colours[k % BAND_COLOURS];
}

static void format_value(const struct graph *g, char text[32], uint64_t value)
{
	if (g->weight == EXPORT_BYTES)
		format_size(text, (double)value);
	else
		format_count(text, value);
}

/* Draws a band. `sums` holds the top of the bands below in each bucket; this band is added to
 * it. */
static void put_band(struct graph *g, const struct series_list *series, uint32_t k, uint64_t *sums)
{
	const struct series *s = &series->list[k];
	uint32_t count = g->timeline->count;
	char most[32];

	format_value(g, most, s->most);
	buf_printf(g->out, "<polygon fill=\"%s\" points=\"", colour_of(series, k));
	for (uint32_t i = count; i-- > 0;) {
		put_point(g, (double)(i + 1) / count, sums[i]);
		put_point(g, (double)i / count, sums[i]);
		sums[i] += s->values[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		put_point(g, (double)i / count, sums[i]);
		put_point(g, (double)(i + 1) / count, sums[i]);
	}
	buf_string(g->out, "\"><title>");
	put_markup(g->out, s->name);
	buf_printf(g->out, ", at most %s</title></polygon>\n", most);
}

static int put_bands(struct graph *g, const struct series_list *series)
{
	cleanup(cleanup_free) uint64_t *sums =
		calloc((size_t)g->timeline->count + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t k = 0; k < series->count; k++)
		put_band(g, series, k, sums);
	return 0;
}

/* Lists the bands, the highest first, as they are stacked. */
static void put_list(struct graph *g, const struct series_list *series, double y)
{
	for (uint32_t k = series->count; k-- > 0; y += LINE) {
		char most[32];

		format_value(g, most, series->list[k].most);
		buf_printf(g->out,
			   "<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"10\" "
			   "fill=\"%s\"/>\n<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s"
			   "</text>\n<text x=\"%.0f\" y=\"%.0f\">",
			   g->left, y - 9, colour_of(series, k), g->left + 80, y, most,
			   g->left + 90, y);
		put_markup_cut(g->out, series->list[k].name,
			       g->width > 200 ? (size_t)((g->width - 90) / LETTER) : 20);
		buf_string(g->out, "</text>\n");
	}
}

/* ---- axes ---- */

static void graph_put_text(struct graph *g, double x, double y, const char *anchor,
			   const char *text)
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

		format_value(g, text, value);
		graph_put_text(g, g->left - 4, bottom - g->height * i / 4 + 4, "end", text);
		graph_put_text(g, g->left + g->width * i / 4, bottom + 16,
			       i == 4 ? "end" : "middle", format_duration(text, time));
	}
}

int export_graph(const struct timeline *timeline, const struct graph_options *options,
		 struct buf *out, struct err_text *err)
{
	uint32_t width = options->width ? options->width : WIDTH,
		 height = options->height ? options->height : HEIGHT;
	bool small = width < SMALL_BELOW;
	double margin = small ? 2 : MARGIN;
	double list = options->series && !small ? LINE * options->series->count : 0;
	int r = 0;
	struct graph g = {
		.timeline = timeline,
		.weight = options->weight,
		.left = margin * (small ? 1 : 1.5),
		.top = margin / 2,
		.width = width - margin * 2,
		.height = height - margin * 1.5 - list > 20 ? height - margin * 1.5 - list : 20,
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
	if (timeline->count && options->series) {
		r = put_bands(&g, options->series);
	} else if (timeline->count) {
		put_shape(&g, "#5a9bd4", true);
		put_shape(&g, "#d65f5f", false);
	}
	if (!small)
		put_axes(&g);
	if (list > 0)
		put_list(&g, options->series, g.top + g.height + 2 * LINE + LINE / 2);
	if (!small && options->incomplete && options->incomplete[0])
		graph_put_text(&g, g.left, g.top - 4, "start", options->incomplete);
	buf_string(out, "</svg>\n");
	r = r ? r : buf_error(out);
	return r ? err_set(err, r, "out of memory") : 0;
}
