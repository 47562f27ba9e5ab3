#pragma once
/* Internals of the flame graph. Its files share what is drawn, and where. */
#include "base/buf.h"
#include "collector/formats/write/export.h"
#include "collector/answers/weight.h"
#include "collector/query/match/intern.h"
#include "collector/query/query.h"

#define ROW_PIXELS 17
#define HUES	   10
#define SHADES	   3
#define CHANGES	   9 /* colours from shrunk to grown; the middle one: unchanged */

struct flamegraph {
	const struct tree *tree;
	const struct flamegraph_options *options;
	struct buf *out;
	uint64_t total;
	uint64_t least; /* frames below this weight are not drawn initially */
	uint64_t floor; /* frames below this weight are not kept for the script either */
	uint32_t width, rows;
	size_t drawn, kept, hidden;
	const char *modules[HUES]; /* by hue: the module that has it */
	unsigned module_count;
	struct buf more; /* numbers of the frames that only the script draws */
	size_t more_count;
	struct intern texts; /* texts of these frames */
};

static inline uint64_t flamegraph_weight(const struct flamegraph *g, uint32_t node)
{
	const struct tree_node *n = &g->tree->nodes[node];

	return g->options->weight == EXPORT_BYTES ? n->bytes : n->blocks;
}

uint32_t flamegraph_y(const struct flamegraph *g, uint32_t row);
/* Appends "1.5 MiB (1,572,864 bytes) in 3 blocks". */
void flamegraph_put_amount(struct buf *out, uint64_t bytes, uint64_t blocks);
/* Appends `part` of `whole` in percent, independent of the locale. */
void flamegraph_put_percent(struct buf *out, uint64_t part, uint64_t whole, unsigned digits);
/* Draws a frame whose left edge is at `from`, in units of the weight. */
void flamegraph_put_frame(struct flamegraph *g, uint32_t node, uint32_t row, uint64_t from);
/* Adds a frame that only the script draws, once there is room for it. */
void flamegraph_put_more(struct flamegraph *g, uint32_t node, uint32_t row, uint64_t from);
/* Writes all frames added by flamegraph_put_more. */
void flamegraph_finish_more(struct flamegraph *g);
void flamegraph_put_colours(struct buf *out);
/* Writes the line that explains the colours; `y` is its position. */
void flamegraph_put_legend(const struct flamegraph *g, unsigned y);
