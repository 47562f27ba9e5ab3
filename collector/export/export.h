#pragma once
/*
 * Files for people and other tools, made of the results of collector/query. No format reads the
 * store by itself. Every writer appends to a buffer; the caller writes it out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct buf;
struct err_text;
struct timeline;
struct tree;
struct tree_change;
struct filter;
struct view;

/* Formats that can bear a comment begin with what the recording does not hold
 * (recording/completeness.h); those that can't (json, collapsed, replay) are the caller's, who says
 * it elsewhere. */

enum export_weight { EXPORT_BYTES, EXPORT_BLOCKS };

/* `frame;frame;frame VALUE` lines, outermost first, sorted; ';' and newlines in names become ':'
 * and ' '. */
int export_collapsed(const struct tree *tree, enum export_weight weight, struct buf *out,
		     struct err_text *err);
/* Appends a frame's name as it stands there. */
void export_collapsed_name(const char *name, struct buf *out);

struct flamegraph_options {
	const char *title;	/* NULL: "heapcast" */
	const char *subtitle;	/* NULL: none */
	const char *incomplete; /* what the numbers do not hold, a comment and a line; "" or NULL:
				   nothing */
	enum export_weight weight;
	uint32_t width; /* pixels; 0: 1200 and as wide as the window */
	bool inverted;	/* roots on top (icicle) */
	bool reversed;	/* the tree is one of tree_reversed: what its lowest row is called */
	const struct tree_change *changes; /* of query_tree_diff: red has grown, blue has shrunk.
					      NULL: no difference is shown */
};

/* Turns the tree inside out (tree_reversed), without what would be too narrow to be seen. 0 or
 * -ENOMEM. */
int export_reverse(struct tree *tree, enum export_weight weight);

/* One SVG file, with search, zoom and details on hover in a browser, by a script inside it and
 * nothing from outside. */
int export_flamegraph(const struct tree *tree, const struct flamegraph_options *options,
		      struct buf *out, struct err_text *err);

struct flame_options; /* export/results.h */
struct flame_file_options {
	const char *title, *subtitle, *incomplete; /* as of flamegraph_options */
	enum export_weight weight;		   /* what it shows at first */
	bool reversed;
	const struct flame_options *flame;
};
#define FLAME_FILE_NODES 100000 /* `count` of flame_options: some 3 MB, as a mail takes */

/* The page's flame graph as one file of HTML, which asks nobody for anything. -ENOTSUP: the
 * collector was built without the page. */
int export_flame_file(const struct tree *tree, const struct flame_file_options *options,
		      struct buf *out, struct err_text *err);

struct graph_options {
	enum export_weight weight;
	uint32_t width, height;		  /* pixels; 0: 1024 and 768. Below 500 without axes */
	const char *incomplete;		  /* as of flame graphs */
	const struct series_list *series; /* bands; NULL: none */
};

/* What was in use over time as SVG: blue up to the lowest of each point, red from there to the
 * highest; or bands upon each other that reach up to the highest, and below what they are
 * called. */
int export_graph(const struct timeline *timeline, const struct graph_options *options,
		 struct buf *out, struct err_text *err);

struct ascii_tree_options {
	const char *incomplete; /* its first line; "" or NULL: none */
	enum export_weight weight;
	double percent_min; /* frames with less of the whole are left out */
	unsigned width;	    /* columns; 0: as wide as it comes */
};

/* The tree as text for a terminal, a line a frame, the outermost first. */
int export_ascii_tree(const struct tree *tree, const struct ascii_tree_options *options,
		      struct buf *out, struct err_text *err);

/* What heaptrack_print and heaptrack's window read; heaptrack.c describes it. The filter is used
 * until heaptrack_export_free. */
struct heaptrack_export;
int heaptrack_export_new(struct view *view, const struct filter *filter,
			 struct heaptrack_export **ret_export, struct err_text *err);
void heaptrack_export_free(struct heaptrack_export *heaptrack_export);
/* Appends until `out` has some `bytes`. 1: there is more; 0: that was all; negative errno. */
int heaptrack_export_some(struct heaptrack_export *heaptrack_export, size_t bytes, struct buf *out,
			  struct err_text *err);

/* Records for programs that ask the same of an allocator again; replay.c describes them. As
 * above. */
struct replay_export;
int replay_export_new(struct view *view, const struct filter *filter,
		      struct replay_export **ret_export, struct err_text *err);
void replay_export_free(struct replay_export *replay_export);
int replay_export_some(struct replay_export *replay_export, size_t bytes, struct buf *out,
		       struct err_text *err);

/*
 * Profiles of other tools. Those that are about a moment hold, beside what was allocated, what
 * `value` counts: at `at_ns` for VALUE_IN_USE (NO_TIME: at the end). All append to `out`.
 */
int export_pprof(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
		 struct buf *out, struct err_text *err);
enum heap_dialect { HEAP_JEMALLOC, HEAP_GPERFTOOLS };
int export_heap_profile(struct view *view, const struct filter *filter, enum value value,
			uint64_t at_ns, enum heap_dialect dialect, struct buf *out,
			struct err_text *err);
/* What valgrind's massif would have written: `over_time` in use from the start to the end with its
 * peak, else what `value` counts at its moment. */
int export_massif(struct view *view, const struct filter *filter, bool over_time, enum value value,
		  uint64_t at_ns, struct buf *out, struct err_text *err);
/* For speedscope: bytes and blocks as two profiles; the one of `weight` is shown first.
 * `incomplete` as of flame graphs: a member of the file, and behind its name. */
int export_speedscope(const struct tree *tree, const char *name, const char *incomplete,
		      enum export_weight weight, struct buf *out, struct err_text *err);

struct callgraph_options {
	const char *title;	/* NULL: none */
	const char *incomplete; /* as of flame graphs */
	enum export_weight weight;
	double percent_min; /* of the whole; functions with less in all they call are left out */
	uint32_t count;	    /* at most so many functions */
};

/* Who calls whom, as text for Graphviz: a box a function, an arrow with what came through a
 * call. */
int export_callgraph(const struct tree *tree, const struct callgraph_options *options,
		     struct buf *out, struct err_text *err);

/* Matched allocations, a line each, and the backtraces they came by, once each; rows.c describes
 * them. In steps as above. */
enum rows_format { ROWS_AS_JSON, ROWS_AS_CSV };
enum rows_table { ROWS_ALLOCATIONS = 1, ROWS_BACKTRACES = 2 };
struct rows_options {
	enum rows_format format;
	unsigned tables;  /* enum rows_table; 0: both in JSON, allocations in CSV */
	bool with_stacks; /* frames in each line of an allocation instead of a number */
	uint64_t count;	  /* at most so many allocations */
};
/* "allocations" or "backtraces"; -EINVAL: neither. */
int rows_table(const char *text, unsigned *ret_tables);
struct rows_export;
int rows_export_new(struct view *view, const struct filter *filter,
		    const struct rows_options *options, struct rows_export **ret_export,
		    struct err_text *err);
void rows_export_free(struct rows_export *rows_export);
int rows_export_some(struct rows_export *rows_export, size_t bytes, struct buf *out,
		     struct err_text *err);
/* About how many bytes the lines of allocations will have, going by some of them; may pass over all
 * rows to count them. */
int rows_export_estimate(struct rows_export *rows_export, uint64_t *ret_bytes,
			 struct err_text *err);

/* A function's name without template or generic arguments: "std::vector::push_back(int const&)".
 * What is no well-formed name comes back as it is. Free it; NULL: no memory. */
char *without_template_arguments(const char *name);

/* A streaming JSON writer: commas and escapes are its business. 64-bit numbers that a JavaScript
 * reader could not hold are the caller's (write them as strings as well). */
struct json {
	struct buf *out;
	unsigned depth;
	bool first[32];
};
void json_init(struct json *json, struct buf *out);
void json_object(struct json *json,
		 const char *key); /* key NULL: no key (in an array, at the top) */
void json_array(struct json *json, const char *key);
void json_end(struct json *json, char bracket); /* '}' or ']' */
void json_string(struct json *json, const char *key,
		 const char *value); /* value NULL: null; bad UTF-8 becomes U+FFFD */
void json_text(struct json *json, const char *key, const char *text,
	       size_t length); /* the same; a NUL does not end it */
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
