#pragma once
/*
 * Queries: (recording, symbols, parameters) -> a result. Queries do not print and use no sockets.
 * The command line, HTTP, the exports and the page render the same results, so the number in a
 * terminal is the number in the browser.
 *
 * Definitions (docs/man explains them to users):
 *   allocated   every matched block, whatever became of it
 *   in use      blocks alive at a moment T: born at or before T, not dead at T
 *   leaked      not freed when the recording ended, and not censored
 *   freed       every matched block that was freed; in members and in the REST API: temporary
 *   peak        in use at the first moment at which the total in use of all blocks was highest
 * A sampled block stands for `weight` bytes and weight / size blocks; any other block stands for
 * itself.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/query/filter.h"

struct err_text;
struct recording;
struct symbols;

/* A recording with its symbols and the names that queries need. It is built once, and shared by
 * queries; the comment below view_forget_names says by which threads. */
struct view;
int view_new(struct recording *recording, struct symbols *symbols, struct view **ret_view,
	     struct err_text *err);
void view_free(struct view *view);
struct recording *view_recording(const struct view *view);
/*
 * Additional rules for functions that only pass allocations on, beside the built-in ones (sites.c):
 * a file with one rule per line, "name", "begin*", "*end" or "*part*". "#" begins a comment, and
 * "!default" disables the built-in rules. Returns -EINVAL with an error text that names the line.
 */
struct site_rules;
int site_rules_read(const char *path, struct site_rules **ret_rules, struct err_text *err);
void site_rules_free(struct site_rules *rules);
/* Must be called before the first query. The rules are used until view_free. */
void view_set_rules(struct view *view, const struct site_rules *rules);
/* Must be called after recording_refresh. */
int view_refresh(struct view *view, struct err_text *err);
/* For a stream that has ended: makes the files beside its rows that take long to make and do not
 * exist yet. Later queries are faster. `cancelled` may be NULL. Returns 0, also if nothing is to be
 * kept, or a negative errno. */
int query_prepare(struct view *view, const atomic_bool *cancelled, struct err_text *err);
/* Must be called after symbols_refresh: names are looked up again, and numbers and texts handed out
 * before become invalid. */
int view_forget_names(struct view *view, struct err_text *err);
/* Several threads may query a view at once, as long as no thread is in view_refresh,
 * view_forget_names or view_free. */

/* One frame of a backtrace as every renderer shows it. Texts live as long as the view. */
struct view_frame {
	const char *name;	  /* function, or "[module+0xoffset]", "[truncated]"... */
	const char *function;	  /* demangled; NULL: unknown */
	const char *raw_function; /* as in the file; NULL: unknown */
	const char *module;	  /* path; NULL: code outside of modules, and pseudo frames */
	const char *file;	  /* NULL: unknown */
	uint32_t line, column;	  /* 0: unknown */
	uint64_t address;	  /* return address in the process; 0: pseudo frame */
	bool is_inline;
	bool is_allocator; /* only passes the allocation on, by a rule (sites.c) */
	/* Only passes on the allocations of its many callers; false before query_find_wrappers. */
	bool is_wrapper;
};
/* Returns the number of frames that a node represents: 1, and one more for each function inlined
 * there. Returns 0 if the node does not exist. */
uint32_t view_frame_count(struct view *view, uint32_t node);
/* `index` 0 is the innermost frame. */
struct view_frame view_frame(struct view *view, uint32_t node, uint32_t index);
/* Returns the node that called this one, or 0 if there is none. */
uint32_t view_parent(const struct view *view, uint32_t node);
/* Counts the allocations of the whole recording whose backtrace contains this place (each time it
 * occurs). */
int view_place_allocations(struct view *view, uint32_t node, uint64_t *ret_count,
			   struct err_text *err);
/* Returns the number of frames of the longest backtrace, without inlined ones. */
uint32_t view_depth_max(struct view *view);
/* Returns "libc.so.6" for "/usr/lib/libc.so.6", and "" for NULL. */
const char *module_basename(const char *path);

/* A module with code that could not be named. */
struct unnamed_module {
	uint32_t module;	  /* number in the recording */
	uint64_t places, unnamed; /* places in stacks, and the number of them without a function */
	/* Sums over allocations with such a place in their backtrace; estimated if sampled. */
	uint64_t allocations, bytes;
};
/* Lists the modules with unnamed code, most bytes first. Modules that no file can name ([vdso]) are
 * left out. The caller frees the list. */
int query_unnamed(struct view *view, struct unnamed_module **ret_list, size_t *ret_count,
		  struct err_text *err);

/* ---- matched rows ---- */

/* Calls `row` for each row that matches, in order. A return value other than 0 stops and is
 * returned. */
int query_each(struct view *view, const struct filter *filter,
	       int (*row)(void *context, const struct row_block *block, uint32_t index),
	       void *context, struct err_text *err);

/* Matched rows in an order, some at a time, in bounded memory. PAGE_BY_TIME is the order in which
 * the store holds the births. It follows their timestamps, unless an agent sent events older than
 * the watermark that it had announced. */
enum page_order { PAGE_BY_TIME, PAGE_BY_ADDRESS, PAGE_BY_SIZE };
struct query_page;
/* The filter is used until query_page_free. Rows with equal keys are in the order of birth
 * (reversed if descending). */
int query_page_new(struct view *view, const struct filter *filter, enum page_order order,
		   bool descending, struct query_page **ret_page, struct err_text *err);
void query_page_free(struct query_page *page);
/* Returns the number of rows written, at most `room`, 0 at the end, or a negative errno. If the
 * recording grows meanwhile, the page still shows the rows of the first call. */
long query_page_next(struct query_page *page, uint64_t *ret_rows, size_t room,
		     struct err_text *err);
/* Skips the first `count` rows; there must be more than that. Must be called before the first
 * query_page_next. Returns 0 or a negative errno. */
int query_page_skip(struct query_page *page, uint64_t count, struct err_text *err);
/* Returns the total number of rows that match. The first call counts them. */
int query_page_total(struct query_page *page, uint64_t *ret_total, struct err_text *err);

/* Access to single rows in any order. The blocks used last stay unpacked. For one thread. */
#define ROW_CACHE_BLOCKS 4
struct row_cache;
/* `columns`: enum row_columns. The recording must not be refreshed or closed before row_cache_free.
 * Returns 0 or -ENOMEM. */
int row_cache_new(const struct recording *recording, unsigned columns,
		  struct row_cache **ret_cache);
void row_cache_free(struct row_cache *cache);
/* Returns the block of a row, and the row's index in it. The block is valid until ROW_CACHE_BLOCKS
 * other blocks were requested. Returns NULL with an error text if the row does not exist, memory
 * ran out, or the row cannot be read. */
const struct row_block *row_cache_get(struct row_cache *cache, uint64_t row, uint32_t *ret_index,
				      struct err_text *err);

/*
 * Iterates over the matched rows in the order of birth. Each call returns the rows of one block.
 *
 *	while ((r = row_walk_next(walk, &rows, err)) > 0)
 *		for (k = 0; k < rows.count; k++)
 *			... rows.block->size[walked_row(&rows, k)] ...
 */
struct row_walk;
struct walked_rows {
	/* Has the requested columns; valid until the next call. */
	const struct row_block *block;
	const uint16_t *list; /* row numbers in the block; NULL: all rows from `first` on */
	uint32_t first, count;
};
static inline uint32_t walked_row(const struct walked_rows *rows, uint32_t k)
{
	return rows->list ? rows->list[k] : rows->first + k;
}
/* Iterates over the rows from `first_row` to before `end_row`. `columns`: enum row_columns. The
 * filter is used until row_walk_free; the recording must not be refreshed or closed before that.
 * Returns 0 or a negative errno. */
int row_walk_new(struct view *view, const struct filter *filter, unsigned columns,
		 uint64_t first_row, uint64_t end_row, struct row_walk **ret_walk,
		 struct err_text *err);
void row_walk_free(struct row_walk *walk);
/* Returns 1 with the rows of one block, which may be none, 0 at the end, or a negative errno. */
int row_walk_next(struct row_walk *walk, struct walked_rows *ret_rows, struct err_text *err);

/* ---- results ---- */

struct usage {
	uint64_t blocks; /* estimated if sampled */
	uint64_t bytes;
	/* Number of blocks that also represent others; 0: the numbers are exact, or nothing was
	 * sampled. */
	uint64_t samples;
	double blocks_error, bytes_error; /* half width of the 95 % interval; 0: exact */
};

/* What a number counts. */
enum value {
	VALUE_ALLOCATED,
	VALUE_LEAKED,
	VALUE_FREED,
	VALUE_IN_USE, /* at a time */
	VALUE_PEAK,
};
int value_parse(const char *text, enum value *ret_value);
const char *value_name(enum value value);
/* Restricts the filter to rows that `value` counts. Returns -EINVAL if this contradicts the
 * filter. */
int filter_narrow(struct filter *filter, struct view *view, enum value value, uint64_t at_ns,
		  struct err_text *err);

/* Blocks that the agent culled. They count as allocated and as freed. No number about a moment
 * includes them. */
struct culled_usage {
	struct usage matched;
	/* Left out of all answers, because the filter has a condition that sums cannot answer. */
	struct usage unknown;
};
int query_culled(struct view *view, const struct filter *filter, struct culled_usage *ret_usage,
		 struct err_text *err);

struct report {
	struct usage allocated, leaked, freed, peak;
	struct culled_usage culled;
	uint64_t peak_ns;
	uint64_t duration_ns;
	uint64_t allocations, frees;	/* estimated if sampled */
	uint64_t reallocations, failed; /* as far as they were recorded */
	uint64_t distinct_stacks;
	uint32_t threads, modules;
};
/* Computes the totals alone. `collector report` uses query_overview, which has these and more. */
int query_report(struct view *view, const struct filter *filter, struct report *ret_report,
		 struct err_text *err);

/* Blocks grouped by call site. */
enum grouping {
	GROUP_BY_BACKTRACE, /* the whole stack */
	/* The innermost frame that is not an allocator's own (operator new, libstdc++
	 * internals...). */
	GROUP_BY_SITE,
	/* The function of that frame and the name of its module, whatever the line, the build and
	 * the folder. */
	GROUP_BY_FUNCTION,
	GROUP_BY_MODULE, /* the name of that frame's module alone */
	GROUPINGS,
};

struct group {
	uint32_t node; /* innermost node of the stack (for a site: of its heaviest stack) */
	/* Names of the site; NULL: unknown. */
	const char *function, *file, *module;
	uint32_t line;
	struct usage value; /* what `value` counts */
	struct usage allocated, leaked, freed;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns; /* births */
};

struct groups {
	struct group *list; /* heaviest first, by bytes, then blocks, then node */
	size_t count;
	struct usage total;
	uint64_t at_ns;	       /* the moment, for VALUE_IN_USE and VALUE_PEAK */
	enum filter_hide hide; /* how call sites were chosen */
};
int query_groups(struct view *view, const struct filter *filter, enum grouping grouping,
		 enum value value, uint64_t at_ns, struct groups *ret_groups, struct err_text *err);
void groups_done(struct groups *groups);

/* Blocks by call site and by the function that the program called. */
struct kind_group {
	uint32_t node;	  /* innermost node of the heaviest stack */
	uint8_t kind;	  /* enum EventKind; 0: unknown, because the blocks were culled */
	const char *type; /* "malloc", "operator new[]"; NULL: unknown */
	const char *function, *file, *module; /* as in struct group */
	uint32_t line;
	struct usage value;
};

struct kind_groups {
	struct kind_group *list; /* heaviest first */
	size_t count;
	struct usage total;
};
int query_kinds(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
		struct kind_groups *ret_groups, struct err_text *err);
void kind_groups_done(struct kind_groups *groups);

/* Totals and their heaviest groups, computed in one pass over the rows. */
struct overview {
	struct report report;
	struct ranking {
		struct groups sites, backtraces;
	} allocated, peak, leaked;
};
int query_overview(struct view *view, const struct filter *filter, struct overview *ret_overview,
		   struct err_text *err);
void overview_done(struct overview *overview);

/* A function on the path from a call site outwards. */
struct caller {
	const char *function, *file; /* from the heaviest path through it; file NULL: unknown */
	uint32_t line;
	/* The part of the site's value that came through here; without errors. */
	struct usage value;
	bool parted;	/* one of several callers that share the value of the previous entry */
	uint32_t label; /* the view's number of function and module */
	/* The caller's frame on the heaviest path: view_frame(view, node, frame). */
	uint32_t node, frame;
};

/*
 * Lists the callers of `site`, a group of query_groups by site. `backtraces` is the answer to the
 * same query by backtrace. The list first has the callers through which most of the value came, one
 * after the other outwards; where the paths diverge, it has the heaviest of the callers there, and
 * ends. At most `most` entries. Returns 0 or a negative errno.
 */
int query_callers(struct view *view, const struct groups *backtraces, const struct group *site,
		  struct caller *ret_list, size_t most, size_t *ret_count);

/* The tree of frames, outermost first, including inlined frames. Children are sorted heaviest
 * first. */
struct tree_node {
	const char *function; /* demangled, or "[libc.so.6+0x1234]", "[truncated]"... */
	const char *module, *file;
	uint32_t line;
	uint32_t first_child, next_sibling; /* indices of nodes; 0: none */
	uint64_t bytes, blocks;		    /* sums of the whole subtree */
	uint64_t self_bytes, self_blocks;
	uint64_t first_ns, last_ns; /* births in the whole subtree */
	/* An example of the frame in the recording: view_frame(view, node, frame). */
	uint32_t node, frame;
	bool is_inline;
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root, without a function */
	size_t count;
	struct usage total; /* as in other answers, with its error; not set by query_tree_diff */
};
int query_tree(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
	       struct tree *ret_tree, struct err_text *err);
void tree_done(struct tree *tree);

/*
 * Makes the tree of the same blocks from their innermost frames outwards: the functions that
 * allocated are below the root, and the callers of a function are below it. The self value of a
 * frame is what came through it as the outermost frame. A node with fewer than `least_bytes` bytes
 * and fewer than `least_blocks` blocks is included without its callers; so are all nodes but the
 * `most` with most bytes. Returns 0 or -ENOMEM.
 */
int tree_reversed(const struct tree *tree, uint64_t least_bytes, uint64_t least_blocks,
		  uint32_t most, struct tree *ret_tree);

/* Returns the text of one frame, as every renderer shows it: function, or "[module+0xoffset]".
 * Valid as long as the view. */
const char *view_frame_name(struct view *view, uint32_t node, uint32_t inline_index);

/* ---- over time ---- */

struct timeline_question {
	/* The part of the recording to show, both ends included. NO_TIME: to the end. */
	uint64_t from_ns, to_ns;
	uint32_t buckets; /* maximum number of buckets, at least 1 */
	bool leaked_only; /* only blocks that were not freed */
};

/* The matched blocks during a bucket. `min` and `max` are the lowest and highest value in use at
 * any moment of the bucket, including its start. The value at the end of one bucket is the value at
 * the start of the next. */
struct timeline_bucket {
	uint64_t start_ns;
	/* The value in use: at the end of the bucket, lowest, highest. */
	uint64_t bytes, bytes_min, bytes_max;
	uint64_t blocks, blocks_min, blocks_max;
	int64_t bytes_change, blocks_change; /* from the bucket's start to its end */
	uint64_t allocations, deallocations; /* during the bucket */
	uint64_t allocated_bytes, freed_bytes;
};

struct timeline {
	struct timeline_bucket *list;
	uint32_t count;
	uint64_t from_ns, to_ns; /* `to` is not included */
	uint64_t width_ns;	 /* width of each bucket; the last may be cut short by `to` */
};
int query_timeline(struct view *view, const struct filter *filter,
		   const struct timeline_question *question, struct timeline *ret_timeline,
		   struct err_text *err);
void timeline_done(struct timeline *timeline);

/* ---- over time, in bands ---- */

#define SERIES_MAX	   32 /* maximum number of bands, beside the rest */
#define SERIES_USUAL	   8
#define SERIES_FILTERS_MAX 16

/* Named filters. A block belongs to the first filter that it matches. */
struct series_filters {
	struct series_filter {
		char *name;
		struct filter filter;
	} list[SERIES_FILTERS_MAX];
	size_t count;
};
/* Adds "NAME:FILTER=VALUE&FILTER=VALUE...". Returns 0, -EINVAL with an error text, or -ENOMEM; call
 * series_filters_done in any case. */
int series_filters_add(struct series_filters *filters, const struct view *view, const char *text,
		       struct err_text *err);
void series_filters_done(struct series_filters *filters);

struct series_question {
	const struct series_filters *filters; /* NULL: by groups */
	enum grouping grouping;
	/* Maximum number of groups with a band of their own: those with the highest peaks of bytes.
	 * At most SERIES_MAX. */
	uint32_t most;
	bool blocks; /* count blocks, not bytes */
};

/* A band. Its value in a bucket is its value at the first moment of the bucket at which all bands
 * together had most in use. */
struct series {
	char *name;
	/* Names of a group; NULL: unknown, or the band is a filter's or the rest. */
	const char *function, *file, *module;
	uint32_t line, node; /* set for a group by backtrace */
	bool is_rest;
	uint64_t most;	  /* the highest of its values */
	uint64_t *values; /* by bucket */
};

struct series_list {
	/* Filters in the order of the question, groups highest first. The rest comes last; it is
	 * left out if it is empty. */
	struct series list[SERIES_MAX + 1];
	uint32_t count;
};
/* Sets the grouping for "site", "function", "module" and "backtrace", and `filters` for "custom".
 * Returns -EINVAL for other texts; `name` is the parameter named in the error text. */
int series_by(const char *text, const char *name, struct series_question *question,
	      const struct series_filters *filters, struct err_text *err);
/* Reconciles `by` (NULL: not given) with `series`. If custom bands are asked for but none are
 * named, the default ones are used. Returns -EINVAL if the two contradict each other. */
int series_settle(const char *by, struct series_question *question, struct series_filters *filters,
		  const struct view *view, struct err_text *err);
/* Answers for the same buckets as query_timeline, whose result it returns as well. */
int query_series(struct view *view, const struct filter *filter,
		 const struct timeline_question *over, const struct series_question *question,
		 struct timeline *ret_timeline, struct series_list *ret_series,
		 struct err_text *err);
void series_done(struct series_list *series);

/* ---- sizes and lifetimes ---- */

struct histogram_class {
	uint64_t from, to; /* both included; UINT64_MAX: no end */
	struct usage usage;
	struct usage leaked; /* only for sizes: the blocks that were not freed */
};

struct histogram {
	struct histogram_class *sizes; /* bytes; each class is twice as wide as the previous one */
	struct histogram_class *lifetimes; /* ns; only blocks that were freed */
	size_t size_count, lifetime_count;
	struct usage total, leaked;
	struct usage unknown; /* blocks whose end is unknown (a loss, an exec) */
};
int query_histogram(struct view *view, const struct filter *filter, enum value value,
		    uint64_t at_ns, struct histogram *ret_histogram, struct err_text *err);
void histogram_done(struct histogram *histogram);

/* ---- two recordings, or two moments of one ---- */

/* A name that differs in the new recording: of a module of the base, both names without folders; or
 * of a function, if the base has no module with the old name. */
struct diff_renamed {
	const char *old, *name;
	const char *old_function, *new_function; /* complete names */
};

/* A function that was probably renamed. Only the base has `old`, and only the new recording has
 * `name`, in the same file and module. For nearly every caller both allocate the same. */
struct diff_hint {
	const char *old, *name, *module; /* the module's name in the new recording */
	struct usage base, now;		 /* sums of blocks whose call site is the function */
	double percent; /* part of the base's bytes that the new function has for the same
			   callers */
};
#define DIFF_HINTS 8

struct diff_side {
	struct view *view;
	const struct filter *filter;
	enum value value;
	uint64_t at_ns;
};

struct diff_entry {
	/* Names from the new recording if the group exists there, else from the base. */
	const char *function, *file, *module;
	uint32_t line;
	uint32_t base_node, new_node; /* heaviest backtrace; NO_NODE: not present */
	enum diff_kind { DIFF_ADDED, DIFF_REMOVED, DIFF_CHANGED } kind;
	struct usage base, now;
	int64_t bytes, blocks; /* now - base */
	double bytes_error;
};
#define NO_NODE UINT32_MAX

struct diff {
	struct diff_entry *list; /* groups that differ, largest difference of bytes first */
	size_t count;
	size_t same; /* number of groups without a difference, which are left out */
	struct usage base, now;
	int64_t bytes, blocks;			/* now - base */
	uint64_t added_bytes, added_blocks;	/* sums of groups that only the new recording has */
	uint64_t removed_bytes, removed_blocks; /* sums of groups that only the base has */
	uint64_t grown_bytes, shrunk_bytes;	/* sums of groups that both have */
	size_t added, removed, changed;
	struct diff_hint *hints; /* the heaviest first, at most DIFF_HINTS */
	size_t hint_count;
};
/*
 * Compares the groups of one side with the same groups of the other. Two frames are the same if
 * they have the same offset in a module with the same build id. In a module with different build
 * ids, or without a build id, they are the same if module name and function are the same, including
 * inlined functions. Two backtraces are the same if all their frames are. The executable may have
 * another name in the new recording.
 */
int query_diff(const struct diff_side *base, const struct diff_side *now, enum grouping grouping,
	       struct diff *ret_diff, struct err_text *err);
/* Does the same, with names of the base that have changed. */
int query_diff_renamed(const struct diff_side *base, const struct diff_side *now,
		       enum grouping grouping, const struct diff_renamed *renamed,
		       size_t renamed_count, struct diff *ret_diff, struct err_text *err);
/* Compares groups by function whose recordings are not at hand: functions are the same if their
 * names and those of their modules are. No entry has a backtrace, and no hints are given. The
 * entries' texts are those of the groups. Returns 0 or -ENOMEM. */
int query_diff_functions(const struct groups *base, const struct groups *now,
			 struct diff *ret_diff);
void diff_done(struct diff *diff);

struct tree_change {
	/* Sums of the whole subtree. */
	uint64_t base_bytes, base_blocks, now_bytes, now_blocks;
};

/* Both sides in one tree. Frames are the same if their function and the name of their module are
 * the same, renamed as for query_diff_renamed. The numbers of a frame (bytes, blocks,
 * self_bytes...) have room for both sides: the self value is the greater of the two, and the total
 * adds the totals of the children. */
struct tree_diff {
	struct tree tree;
	struct tree_change *changes; /* by index in tree.nodes */
	struct usage base_total, now_total;
};
int query_tree_diff(const struct diff_side *base, const struct diff_side *now,
		    const struct diff_renamed *renamed, size_t renamed_count,
		    struct tree_diff *ret_diff, struct err_text *err);
void tree_diff_done(struct tree_diff *diff);

/* ---- blocks by backtrace and thread ---- */

struct thread_group {
	uint32_t node, thread;	       /* thread: number; 0: unknown */
	struct usage allocated, value; /* without errors */
};

struct thread_groups {
	struct thread_group *list; /* by node, then thread */
	size_t count;
	struct usage allocated, value;
	uint64_t at_ns; /* the moment, for VALUE_IN_USE and VALUE_PEAK */
};
int query_thread_groups(struct view *view, const struct filter *filter, enum value value,
			uint64_t at_ns, struct thread_groups *ret_groups, struct err_text *err);
void thread_groups_done(struct thread_groups *groups);

/* ---- groups of the REST API: by backtrace, matched blocks beside all blocks ---- */

struct group_side {
	struct usage allocated;
	uint64_t leaked_blocks;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns; /* births */
};

struct allocation_group {
	uint32_t node;
	struct group_side all, matched;
	struct usage culled; /* culled blocks of the group, if `all` does not include them */
	/* For all blocks: the first moment at which the group had most bytes in use. */
	uint64_t peak_ns;
};

struct allocation_groups {
	struct allocation_group *list; /* by node */
	size_t count;
};
/* Lists the groups with at least one matched block, culled blocks included. */
int query_allocation_groups(struct view *view, const struct filter *filter,
			    struct allocation_groups *ret_groups, struct err_text *err);
/* Does the same from rows alone, without culled blocks. */
int query_kept_groups(struct view *view, const struct filter *filter,
		      struct allocation_groups *ret_groups, struct err_text *err);
void allocation_groups_done(struct allocation_groups *groups);
