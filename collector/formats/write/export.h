#pragma once
/*
 * Renders trees and timelines, the results of collector/query, as pictures and texts. All functions
 * append to a buffer, which the caller writes out. Formats of whole recordings are in writer.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/answers/weight.h"
#include "collector/query/query.h"

struct buf;
struct err_text;
struct timeline;
struct tree;
struct tree_change;
struct filter;
struct view;

/* Writes one line "frame;frame;frame VALUE" per stack, outermost frame first, sorted. ';' and
 * newlines in names become ':' and ' '. */
int export_collapsed(const struct tree *tree, enum export_weight weight, struct buf *out,
		     struct err_text *err);
/* Appends a frame's name as the collapsed export spells it. */
void export_collapsed_name(const char *name, struct buf *out);

struct flamegraph_options {
	const char *title;    /* NULL: "heapcast" */
	const char *subtitle; /* NULL: none */
	/* What the recording does not hold, shown as a comment and as a line; "" or NULL:
	 * nothing. */
	const char *incomplete;
	enum export_weight weight;
	uint32_t width; /* pixels; 0: 1200, and scaled to the window */
	bool inverted;	/* roots at the top (icicle) */
	bool reversed;	/* the tree comes from tree_reversed, and its lowest row has another name */
	/* The changes of query_tree_diff: red frames have grown, blue ones have shrunk. NULL: no
	 * difference is shown. */
	const struct tree_change *changes;
};

/* Turns the tree inside out (tree_reversed), without frames that would be too narrow to see.
 * Returns 0 or -ENOMEM. */
int export_reverse(struct tree *tree, enum export_weight weight);

/* Writes a self-contained SVG file. In a browser it offers search, zoom and details on hover, by a
 * script in the file. */
int export_flamegraph(const struct tree *tree, const struct flamegraph_options *options,
		      struct buf *out, struct err_text *err);

struct flame_options; /* answers/results.h */
struct flame_file_options {
	const char *title, *subtitle, *incomplete; /* as in flamegraph_options */
	enum export_weight weight;		   /* which values are shown first */
	bool reversed;
	const struct flame_options *flame;
};
#define FLAME_FILE_NODES 100000 /* `count` of flame_options: some 3 MB, small enough for a mail */

/* Writes the page's flame graph as one self-contained HTML file, which makes no requests. Returns
 * -ENOTSUP if the collector was built without the page. */
int export_flame_file(const struct tree *tree, const struct flame_file_options *options,
		      struct buf *out, struct err_text *err);

struct graph_options {
	enum export_weight weight;
	uint32_t width, height; /* pixels; 0: 1024 and 768. Below 500 the graph has no axes */
	const char *incomplete; /* as for flame graphs */
	const struct series_list *series; /* bands; NULL: no bands */
};

/* Writes the memory in use over time as SVG: blue up to the lowest value of each point, red from
 * there to the highest. With `series`: stacked bands that reach up to the highest value, and a
 * legend below. */
int export_graph(const struct timeline *timeline, const struct graph_options *options,
		 struct buf *out, struct err_text *err);

struct ascii_tree_options {
	const char *incomplete; /* the first line; "" or NULL: none */
	enum export_weight weight;
	double percent_min; /* frames with a smaller share of the whole are left out */
	unsigned width;	    /* columns; 0: unlimited */
	bool short_names;   /* without template arguments and parameters (fold_name.h) */
};

/* Writes the tree as text for a terminal, one frame per line, outermost first. */
int export_ascii_tree(const struct tree *tree, const struct ascii_tree_options *options,
		      struct buf *out, struct err_text *err);

/* Writes a file for speedscope with two profiles, of bytes and of blocks. The profile of `weight`
 * is shown first. `incomplete` is the same as for flame graphs. It becomes a member of the file,
 * and follows its name. */
int export_speedscope(const struct tree *tree, const char *name, const char *incomplete,
		      enum export_weight weight, struct buf *out, struct err_text *err);

struct callgraph_options {
	const char *title;	/* NULL: none */
	const char *incomplete; /* as for flame graphs */
	enum export_weight weight;
	/* Percentage of the whole. Functions with a smaller inclusive value are left out. */
	double percent_min;
	uint32_t count; /* maximum number of functions */
};

/* Writes the call graph as text for Graphviz: one box per function, one arrow per call with the
 * value that came through it. */
int export_callgraph(const struct tree *tree, const struct callgraph_options *options,
		     struct buf *out, struct err_text *err);
