#pragma once
/*
 * Questions: (recording, symbols, parameters) -> a result. No printing, no sockets. The command
 * line, HTTP, exports and the page render the same results, so the number in a terminal is the
 * number in the browser.
 *
 * Definitions (docs/manual has them for people):
 *   allocated   every matched block, whatever became of it
 *   in use      blocks alive at a moment T: born at or before T, not dead at T
 *   leaked      not freed when the recording ended, and not censored
 *   temporary   freed (REST, as the seed has it)
 *   peak        in use at the first moment at which the total in use of all blocks was highest
 * A block stands for `weight` bytes and weight / size blocks if it was sampled, else for itself.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "collector/columns/row_block.h"

struct buf;
struct err_text;
struct recording;
struct symbols;
struct symbol;

/* A recording with symbols and the names that queries look at; built once, shared by queries of one
 * thread. */
struct view;
int view_new(struct recording *recording, struct symbols *symbols, struct view **ret_view,
	     struct err_text *err);
void view_free(struct view *view);
struct recording *view_recording(const struct view *view);
/* Functions that only pass allocations on, beside the known ones (sites.c): a file with a rule a
 * line, "name", "begin*", "*end" or "*part*"; "#" begins a comment, and "!default" does without the
 * known ones. -EINVAL: the sentence names the line. */
struct site_rules;
int site_rules_read(const char *path, struct site_rules **ret_rules, struct err_text *err);
void site_rules_free(struct site_rules *rules);
/* Another name for a function that the known rules take for one that only passes allocations on:
 * they take it for one, too, and it tells nothing but `word`: "std::vector<WORD>". NULL: they do
 * not (or no memory). Free it. */
char *site_disguise(const char *function, const char *word);
/* Before the first question. The rules are used until view_free. */
void view_set_rules(struct view *view, const struct site_rules *rules);
/* After recording_refresh. */
int view_refresh(struct view *view, struct err_text *err);
/* Makes what is kept beside the rows of a stream that has ended, and takes long to make, if it is
 * not there yet: questions are answered the faster. `cancelled` may be NULL. 0, also where nothing
 * is to be kept. */
int query_prepare(struct view *view, const atomic_bool *cancelled, struct err_text *err);
/* After symbols_refresh: names are looked up again, and numbers and texts that were handed out are
 * no longer valid. */
int view_forget_names(struct view *view, struct err_text *err);
/* Symbols of a node, looked up in batch for all nodes at the first call. Never NULL for a valid
 * node. */
const struct symbol *view_symbol(struct view *view, uint32_t node, struct err_text *err);

/* A view may be asked from several threads at once, as long as none is in view_refresh,
 * view_forget_names or view_free meanwhile. */

/* One frame of a backtrace as every renderer shows it. Texts live as long as the view. */
struct view_frame {
	const char *name;	  /* function, else "[module+0xoffset]", "[truncated]"... */
	const char *function;	  /* demangled; NULL: unknown */
	const char *raw_function; /* as in the file; NULL: unknown */
	const char *module;	  /* path; NULL: code in no module, and pseudo frames */
	const char *file;	  /* NULL: unknown */
	uint32_t line, column;	  /* 0: unknown */
	uint64_t address;	  /* return address in the process; 0: pseudo frame */
	bool is_inline;
	bool is_allocator; /* only passes the allocation on (sites.c) */
};
/* How many frames a node stands for: 1, and one more for each function inlined there. 0: no such
 * node. */
uint32_t view_frame_count(struct view *view, uint32_t node);
/* `index` 0 is the innermost. */
struct view_frame view_frame(struct view *view, uint32_t node, uint32_t index);
/* Allocations of the whole recording whose backtrace has this place in it (each time it has). */
int view_place_allocations(struct view *view, uint32_t node, uint64_t *ret_count,
			   struct err_text *err);
/* Frames of the longest backtrace, inlined ones not counted. */
uint32_t view_depth_max(struct view *view);
/* "libc.so.6" of "/usr/lib/libc.so.6"; of NULL "". */
const char *module_basename(const char *path);

/* A module some of whose code nobody could name. */
struct unnamed_module {
	uint32_t module;	  /* of the recording */
	uint64_t places, unnamed; /* places in stacks, and how many of them have no function */
	uint64_t allocations,
		bytes; /* with such a place in their backtrace; estimated where sampled */
};
/* Most bytes first. Modules that no file can name ([vdso]) are left out. Free the list. */
int query_unnamed(struct view *view, struct unnamed_module **ret_list, size_t *ret_count,
		  struct err_text *err);

/* ---- filters ---- */

enum filter_lifetime {
	LIFETIME_ALL,
	LIFETIME_ONLY_LEAKED,
	LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE,
	LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE,
	LIFETIME_ONLY_TEMPORARY,
	LIFETIME_ONLY_WHOLE_GROUP_LEAKED,
	LIFETIME_ONLY_CHAIN_LEAKED,
};

/* How far a question is, in blocks of rows: those looked at, and those to look at in all its passes
 * that have begun. A question may make several passes, one after the other. May be read by any
 * thread meanwhile. */
struct progress {
	atomic_uint_fast64_t done, of;
	/* Called after a block now and then, on the thread that asked. May be NULL. */
	void (*show)(void *context, uint64_t done, uint64_t of);
	void *context;
};

enum filter_answer { ANSWER_ANY, ANSWER_YES, ANSWER_NO };

/* The allocation filter of the REST API and of the command line. Unset: the widest value. */
struct filter {
	uint64_t from_ns, to_ns; /* birth, both included */
	enum filter_lifetime lifetime;
	uint64_t address_min, address_max;
	uint64_t size_min, size_max;
	uint64_t lifetime_min_ns,
		lifetime_max_ns; /* a block in use has lived until the end of the recording */
	uint32_t depth_min, depth_max;
	uint32_t backtrace;		 /* node; 0: any */
	uint32_t deallocation_backtrace; /* node; 0: any */
	char *function_regex, *source_regex, *negative_function_regex, *negative_source_regex;
	uint64_t alive_at_ns;	/* NO_TIME: not asked */
	uint64_t alive_at_2_ns; /* NO_TIME: not asked */
	uint32_t thread;	/* number; 0: any */
	char *thread_name;	/* regular expression; NULL: any */
	char *module;		/* basename or path of a module of the backtrace; NULL: any */
	char *tag; /* text that the thread bore when it allocated (heapcast_label); NULL: any */
	enum filter_answer freed_at_once; /* freed before its thread allocated again */
	enum filter_answer mmaped, jemalloc,
		main_arena; /* where the block came from; glibc_heap.h */
	uint64_t marker; /* number that the program said last before (heapcast_mark); NO_MARKER: any
			  */
	uint64_t from_map; /* number of the mapping that it lay in (query_mappings); NO_MARKER: any
			    */
	enum filter_answer
		hide; /* no filter: trees leave out frames that only pass allocations on */
	/* Of the block's chain of reallocs. */
	uint64_t first_size_min, first_size_max, last_size_min, last_size_max;
	uint64_t chain_lifetime_min_ns,
		chain_lifetime_max_ns; /* one that goes on has lived until the end */
	uint64_t chain_length_min, chain_length_max, position_min, position_max;
	/* Of all blocks of the same backtrace. */
	uint64_t group_interval_min_ns,
		group_interval_max_ns; /* from the first birth to the last */
	uint64_t group_allocations_min, group_allocations_max;
	struct filter_share {
		double number;
		bool percent; /* of the group's allocations */
	} group_leaked_min, group_leaked_max;
	uint64_t group_peak_min_ns,
		group_peak_max_ns; /* first moment at which the group had most bytes in use */
	bool before_start;	   /* `to` lies before the recording: nothing matches */
	uint32_t one_in; /* a preview: of so many runs of PREVIEW_ROWS one is looked at, and stands
			    for all; 0: no preview */
	struct row_bits *only;	   /* rows that somebody else has picked out (collector/sql); the
				      filter's. NULL: any */
	struct cancel cancel;	   /* the query ends soon with -ECANCELED or -ETIME */
	struct progress *progress; /* may be NULL */
};

#define NO_MARKER UINT64_MAX

/* Rows that lie beside each other, of about the same time: a power of two, as many fit a block of
 * rows. In a preview each is taken for a sampled one, of one in `one_in`: sums are estimates
 * without bias, and say how coarse they are, though rows of a run are more alike than the error
 * takes them to be. For questions that sweep or follow rows (sweep_run, history.h). */
#define PREVIEW_ROWS 1024u

/* X(name, what --help shows for its value, what it says): the filters, for tables of options and
 * documents. */
#define FILTERS(X)                                                                                 \
	X("from", "TIME", "allocated at or after: 10s, 50%, or since the epoch")                   \
	X("to", "TIME", "allocated at or before")                                                  \
	X("lifetime", "WHICH", FILTER_LIFETIMES)                                                   \
	X("address-min", "ADDRESS", "at this address or above")                                    \
	X("address-max", "ADDRESS", "at this address or below")                                    \
	X("size-min", "SIZE", "of this many bytes or more: 100, 4K")                               \
	X("size-max", "SIZE", "of this many bytes or fewer")                                       \
	X("lifetime-min", "TIME", "lived so long or longer: 10 (seconds), 100ms, 4h3m2s")          \
	X("lifetime-max", "TIME", "lived so long or shorter")                                      \
	X("backtrace-depth-min", "N", "with so many frames or more")                               \
	X("backtrace-depth-max", "N", "with so many frames or fewer")                              \
	X("backtraces", "ID", "allocated with this backtrace")                                     \
	X("deallocation-backtraces", "ID", "freed with this backtrace")                            \
	X("function-regex", "REGEX", "a function of the backtrace matches")                        \
	X("source-regex", "REGEX", "a source file of the backtrace matches")                       \
	X("negative-function-regex", "REGEX", "no function of the backtrace matches")              \
	X("negative-source-regex", "REGEX", "no source file of the backtrace matches")             \
	X("alive-at", "TIME", "alive at this moment")                                              \
	X("alive-at-2", "TIME", "alive at this moment as well")                                    \
	X("thread", "N", "allocated by the thread of this number")                                 \
	X("thread-name", "REGEX", "allocated by a thread whose name matches")                      \
	X("module", "NAME",                                                                        \
	  "a frame of the backtrace is in this library or program: libc.so.6, /usr/bin/app")       \
	X("tag", "TEXT", "allocated while its thread bore this label (heapcast_label)")            \
	X("freed-at-once", "WHICH", "yes or no: freed before its thread allocated again")          \
	X("mmaped", "WHICH", "yes or no: glibc gave it a mapping of its own")                      \
	X("arena", "WHICH", "main or non_main: which of glibc's arenas it came from")              \
	X("jemalloc", "WHICH", "yes or no: it came from libjemalloc")                              \
	X("marker", "N", "allocated while the program's marker was this number (heapcast_mark)")   \
	X("from-map", "ID", "it lay in this map, as /data/ID/maps counts them")                    \
	X("hide", "WHICH",                                                                         \
	  "yes or no: trees and flame graphs without functions that only pass allocations on")     \
	X("first-size-min", "SIZE",                                                                \
	  "the first block of its chain of reallocs had this size or more")                        \
	X("first-size-max", "SIZE", "or less")                                                     \
	X("last-size-min", "SIZE",                                                                 \
	  "the last block of its chain of reallocs had this size or more")                         \
	X("last-size-max", "SIZE", "or less")                                                      \
	X("chain-length-min", "N", "its chain of reallocs has so many blocks or more")             \
	X("chain-length-max", "N", "or fewer")                                                     \
	X("chain-lifetime-min", "TIME", "its chain of reallocs lived so long or longer")           \
	X("chain-lifetime-max", "TIME", "or shorter")                                              \
	X("position-in-chain-min", "N", "so many reallocs came before it, or more")                \
	X("position-in-chain-max", "N", "or fewer")                                                \
	X("group-interval-min", "TIME",                                                            \
	  "its backtrace's first and last allocation lie so far apart: 10s, 50%")                  \
	X("group-interval-max", "TIME", "or nearer")                                               \
	X("group-allocations-min", "N", "its backtrace has so many allocations or more")           \
	X("group-allocations-max", "N", "or fewer")                                                \
	X("group-leaked-allocations-min", "N",                                                     \
	  "of its backtrace so many were not freed, or more: 10, 50%")                             \
	X("group-leaked-allocations-max", "N", "or fewer")                                         \
	X("group-max-total-usage-first-seen-min", "TIME",                                          \
	  "its backtrace first had most in use at or after")                                       \
	X("group-max-total-usage-first-seen-max", "TIME", "or at or before")

#define FILTER_LIFETIMES                                                                           \
	"all, only_leaked, only_temporary, only_whole_group_leaked, only_chain_leaked, "           \
	"only_not_deallocated_in_current_range or only_deallocated_in_current_range"

/* A bit a row, of the first `rows` rows; others do not match. */
struct row_bits {
	uint64_t rows;
	uint8_t bits[];
};
/* NULL: no memory. All bits are 0. Free it with free. */
struct row_bits *row_bits_new(uint64_t rows);

void filter_init(struct filter *filter);
void filter_done(struct filter *filter);
/* Only what is alive, be it at the end? Then survivors match, too. */
bool filter_asks_alive(const struct filter *filter);
/* Sets what `name` (as in the REST API, with '_' or '-') says to `value`. -EINVAL: the sentence
 * names parameter and what it takes; -ENOENT: no filter has that name. */
int filter_set(struct filter *filter, const struct view *view, const char *name, const char *value,
	       struct err_text *err);

/* Row by row: calls `row` for each that matches, in order; not 0 stops and is returned. */
struct row_block;
int query_each(struct view *view, const struct filter *filter,
	       int (*row)(void *context, const struct row_block *block, uint32_t index),
	       void *context, struct err_text *err);

/* A time as filters take it: at least 1e11 is milliseconds and at least 1e9 seconds since the
 * epoch, a smaller number seconds since the start; "10s", "4h3m2s", "100ms"; "50%" of the
 * recording. Times beyond either end become NO_TIME - 1 and 0. -EINVAL: the sentence says what
 * `name` takes. 1: it lies before the start (0 is written). */
int query_time(const struct view *view, const char *name, const char *text, uint64_t *ret_ns,
	       struct err_text *err);

/* Matched rows in an order, some at a time, without holding them all. By time: as the store has
 * ordered births, which is as their stamps do, unless an agent's watermark promised more than it
 * kept. */
enum page_order { PAGE_BY_TIME, PAGE_BY_ADDRESS, PAGE_BY_SIZE };
struct query_page;
/* The filter is used until query_page_free. Equal keys stay in the order of birth (reversed if
 * descending). */
int query_page_new(struct view *view, const struct filter *filter, enum page_order order,
		   bool descending, struct query_page **ret_page, struct err_text *err);
void query_page_free(struct query_page *page);
/* The next rows, at most `room`: how many there were, 0 at the end, negative errno. A recording
 * that grew meanwhile is looked at as it was at the first call. */
long query_page_next(struct query_page *page, uint64_t *ret_rows, size_t room,
		     struct err_text *err);
/* Leaves out the first `count` rows, of which there are more; before the first query_page_next. 0
 * or negative errno. */
int query_page_skip(struct query_page *page, uint64_t count, struct err_text *err);
/* How many rows match in all; counts them at the first call. */
int query_page_total(struct query_page *page, uint64_t *ret_total, struct err_text *err);

/* Single rows, in any order: the blocks that were asked for last stay unpacked. For one thread. */
#define ROW_CACHE_BLOCKS 4
struct row_cache;
/* `columns`: enum row_columns. The recording must not be refreshed or closed before row_cache_free.
 * 0 or -ENOMEM. */
int row_cache_new(const struct recording *recording, unsigned columns,
		  struct row_cache **ret_cache);
void row_cache_free(struct row_cache *cache);
/* The block of a row and the row's index in it, valid until ROW_CACHE_BLOCKS other blocks were
 * asked for. NULL with a sentence: no such row, no memory, or it can't be read. */
const struct row_block *row_cache_get(struct row_cache *cache, uint64_t row, uint32_t *ret_index,
				      struct err_text *err);

/*
 * Matched rows in the order of birth, for who asks for the next ones: those of one block at a time.
 *
 *	while ((r = row_walk_next(walk, &rows, err)) > 0)
 *		for (k = 0; k < rows.count; k++)
 *			... rows.block->size[walked_row(&rows, k)] ...
 */
struct row_walk;
struct walked_rows {
	const struct row_block
		*block;	      /* with the columns that were asked for, until the next call */
	const uint16_t *list; /* numbers of rows in it; NULL: all from `first` on */
	uint32_t first, count;
};
static inline uint32_t walked_row(const struct walked_rows *rows, uint32_t k)
{
	return rows->list ? rows->list[k] : rows->first + k;
}
/* Of the rows from `first_row` to before `end_row`; `columns`: enum row_columns. The filter is used
 * until row_walk_free, and the recording must not be refreshed or closed before. 0 or negative
 * errno. */
int row_walk_new(struct view *view, const struct filter *filter, unsigned columns,
		 uint64_t first_row, uint64_t end_row, struct row_walk **ret_walk,
		 struct err_text *err);
void row_walk_free(struct row_walk *walk);
/* 1: here are those of one block, which may be none; 0: that was all; negative errno. */
int row_walk_next(struct row_walk *walk, struct walked_rows *ret_rows, struct err_text *err);

/* ---- results ---- */

struct usage {
	uint64_t blocks; /* estimated where sampled */
	uint64_t bytes;
	uint64_t samples; /* blocks behind it that stand for others, too; 0: exact, or nothing was
			     sampled */
	double blocks_error, bytes_error; /* half width of the 95 % interval; 0: exact */
};

/* What is counted. */
enum value {
	VALUE_ALLOCATED,
	VALUE_LEAKED,
	VALUE_TEMPORARY,
	VALUE_IN_USE, /* at a time */
	VALUE_PEAK,
};
int value_parse(const char *text, enum value *ret_value);
const char *value_name(enum value value);
/* Lets only rows through that `value` counts. -EINVAL: the filter asks for something else
 * already. */
int filter_narrow(struct filter *filter, struct view *view, enum value value, uint64_t at_ns,
		  struct err_text *err);

/* Blocks that the agent culled: they are among what was allocated and temporary, and in no number
 * that is about a moment. */
struct culled_usage {
	struct usage matched;
	struct usage
		unknown; /* left out of all answers: a filter asks what their sums can't tell */
};
int query_culled(struct view *view, const struct filter *filter, struct culled_usage *ret_usage,
		 struct err_text *err);

struct report {
	struct usage allocated, leaked, temporary, peak;
	struct culled_usage culled;
	uint64_t peak_ns;
	uint64_t duration_ns;
	uint64_t allocations, frees;	/* estimated where sampled */
	uint64_t reallocations, failed; /* as far as they were recorded */
	uint64_t distinct_stacks;
	uint32_t threads, modules;
};
int query_report(struct view *view, const struct filter *filter, struct report *ret_report,
		 struct err_text *err);

/* Blocks grouped by call site. */
enum grouping {
	GROUP_BY_BACKTRACE, /* the whole stack */
	GROUP_BY_SITE,	    /* the innermost frame that is not an allocator's own (operator new,
			       libstdc++ internals...) */
	GROUP_BY_FUNCTION,  /* the same frame's function and its module's name, whatever the line,
			       the build and the folder */
	GROUP_BY_MODULE,    /* its module's name alone */
	GROUPINGS,
};

struct group {
	uint32_t node; /* innermost node of the stack (of the heaviest one of a site) */
	const char *function, *file, *module; /* of the site; NULL: unknown */
	uint32_t line;
	struct usage value; /* what was asked for */
	struct usage allocated, leaked, temporary;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns; /* births */
};

struct groups {
	struct group *list; /* heaviest first, by bytes, then blocks, then node */
	size_t count;
	struct usage total;
	uint64_t at_ns; /* the moment of VALUE_IN_USE and VALUE_PEAK */
};
int query_groups(struct view *view, const struct filter *filter, enum grouping grouping,
		 enum value value, uint64_t at_ns, struct groups *ret_groups, struct err_text *err);
void groups_done(struct groups *groups);

/* Blocks by call site and by the function that the program called. */
struct kind_group {
	uint32_t node;	  /* innermost node of the heaviest stack */
	uint8_t kind;	  /* enum EventKind; 0: not known, of blocks that were culled */
	const char *type; /* "malloc", "operator new[]"; NULL: not known */
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

/* Totals and what has most of them, in one pass over the rows. */
struct overview {
	struct report report;
	struct ranking {
		struct groups sites, backtraces;
	} allocated, peak, leaked;
};
int query_overview(struct view *view, const struct filter *filter, struct overview *ret_overview,
		   struct err_text *err);
void overview_done(struct overview *overview);

/* A function on the way from a call site outwards. */
struct caller {
	const char *function, *file; /* of the heaviest way through it; file NULL: unknown */
	uint32_t line;
	struct usage value; /* of the site's, what came through here; without errors */
	bool parted;	    /* one of several that share what came through the caller before */
	uint32_t label;	    /* the view's number of function and module */
};

/*
 * Who calls `site`, a group of query_groups by site; `backtraces` is the answer to the same
 * question by backtrace. First the callers that have most of it, one after the other outwards;
 * then, where the ways part, the heaviest of those. At most `most`. 0 or -ENOMEM.
 */
int query_callers(struct view *view, const struct groups *backtraces, const struct group *site,
		  struct caller *ret_list, size_t most, size_t *ret_count);

/* The tree of frames, outermost first, inlined frames included; children heaviest first. */
struct tree_node {
	const char *function; /* demangled, or "[libc.so.6+0x1234]", "[truncated]"... */
	const char *module, *file;
	uint32_t line;
	uint32_t first_child, next_sibling; /* indices; 0: none */
	uint64_t bytes, blocks;		    /* of everything below, itself included */
	uint64_t self_bytes, self_blocks;
	uint64_t first_ns, last_ns; /* births of everything below */
	uint32_t node, frame; /* a place of it in the recording: view_frame(view, node, frame) */
	bool is_inline;
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root, without a function */
	size_t count;
	struct usage total; /* as of other answers, with its error; none of query_tree_diff */
};
int query_tree(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
	       struct tree *ret_tree, struct err_text *err);
void tree_done(struct tree *tree);

/* The same blocks from their innermost frames outwards: below the root are the functions that
 * allocated, below a function its callers. What ends at a frame itself came through an outermost
 * one. What has fewer bytes than `least_bytes` and fewer blocks than `least_blocks` is there, but
 * not its callers; nor those of any but the `most` with most bytes. 0 or -ENOMEM. */
int tree_reversed(const struct tree *tree, uint64_t least_bytes, uint64_t least_blocks,
		  uint32_t most, struct tree *ret_tree);

/* Text of one frame, as every renderer shows it: function, else "[module+0xoffset]". Valid as long
 * as the view. */
const char *view_frame_name(struct view *view, uint32_t node, uint32_t inline_index);

/* ---- over time ---- */

struct timeline_question {
	uint64_t from_ns,
		to_ns; /* what part of the recording is shown, both included; NO_TIME: to the end */
	uint32_t buckets; /* at most so many, at least 1 */
	bool leaked_only; /* only blocks that were not freed */
};

/* What matched, while a bucket lasted. `min` and `max` are the lowest and highest that was in use
 * at any moment of it, its start included; what is in use where one bucket ends is what is in use
 * where the next begins. */
struct timeline_bucket {
	uint64_t start_ns;
	uint64_t bytes, bytes_min, bytes_max; /* in use: at its end, lowest, highest */
	uint64_t blocks, blocks_min, blocks_max;
	int64_t bytes_change, blocks_change; /* from its start to its end */
	uint64_t allocations, deallocations; /* in it */
	uint64_t allocated_bytes, freed_bytes;
};

struct timeline {
	struct timeline_bucket *list;
	uint32_t count;
	uint64_t from_ns, to_ns; /* `to` is not included */
	uint64_t width_ns;	 /* of each; the last may be cut short by `to` */
};
int query_timeline(struct view *view, const struct filter *filter,
		   const struct timeline_question *question, struct timeline *ret_timeline,
		   struct err_text *err);
void timeline_done(struct timeline *timeline);

/* ---- over time, in bands ---- */

#define SERIES_MAX	   32 /* bands, beside the rest */
#define SERIES_USUAL	   8
#define SERIES_FILTERS_MAX 16

/* Named filters. A block is of the first that it fits. */
struct series_filters {
	struct series_filter {
		char *name;
		struct filter filter;
	} list[SERIES_FILTERS_MAX];
	size_t count;
};
/* Takes "NAME:FILTER=VALUE&FILTER=VALUE...". -EINVAL with a sentence, -ENOMEM; series_filters_done
 * in any case. */
int series_filters_add(struct series_filters *filters, const struct view *view, const char *text,
		       struct err_text *err);
void series_filters_done(struct series_filters *filters);

struct series_question {
	const struct series_filters *filters; /* NULL: by groups */
	enum grouping grouping;
	uint32_t most; /* groups that have a band of their own at most: those with the highest peaks
			  of bytes; up to SERIES_MAX */
	bool blocks;   /* count blocks, not bytes */
};

/* A band. Its value in a bucket is that of the first moment at which most was in use of all bands
 * together. */
struct series {
	char *name;
	const char *function, *file,
		*module;     /* of a group; NULL: unknown, or a filter's or the rest's */
	uint32_t line, node; /* of a group by backtrace */
	bool is_rest;
	uint64_t most;	  /* of its values */
	uint64_t *values; /* by bucket */
};

struct series_list {
	struct series list[SERIES_MAX + 1]; /* in the order asked for, or the highest first; what is
					       in none comes last, if there is any */
	uint32_t count;
};
/* "site", "function", "module" or "backtrace" sets the grouping, "custom" that it is by `filters`.
 * -EINVAL: `name` takes no other. */
int series_by(const char *text, const char *name, struct series_question *question,
	      const struct series_filters *filters, struct err_text *err);
/* Brings `by` (NULL: not given) and `series` together: custom bands are the usual ones where none
 * are named. -EINVAL: they don't fit. */
int series_settle(const char *by, struct series_question *question, struct series_filters *filters,
		  const struct view *view, struct err_text *err);
/* The same buckets as query_timeline, which is asked, too. */
int query_series(struct view *view, const struct filter *filter,
		 const struct timeline_question *over, const struct series_question *question,
		 struct timeline *ret_timeline, struct series_list *ret_series,
		 struct err_text *err);
void series_done(struct series_list *series);

/* ---- sizes and lifetimes ---- */

struct histogram_class {
	uint64_t from, to; /* both included; UINT64_MAX: no end */
	struct usage usage;
	struct usage leaked; /* of sizes only: those of them that were not freed */
};

struct histogram {
	struct histogram_class *sizes;	   /* bytes; classes double */
	struct histogram_class *lifetimes; /* ns; only of blocks that were freed */
	size_t size_count, lifetime_count;
	struct usage total, leaked;
	struct usage unknown; /* nobody saw their end (a loss, an exec) */
};
int query_histogram(struct view *view, const struct filter *filter, enum value value,
		    uint64_t at_ns, struct histogram *ret_histogram, struct err_text *err);
void histogram_done(struct histogram *histogram);

/* ---- leaks by survival: survival.c says how ---- */

struct survivor {
	uint32_t node;			      /* of its biggest block in use */
	const char *function, *file, *module; /* as in struct group */
	uint32_t line;
	struct usage allocated, in_use;
	struct usage old, young; /* in_use apart */
	uint64_t suspect_bytes;
	bool whole_group; /* none of the call site's blocks was freed */
	uint64_t age_min_ns, age_max_ns;
	uint64_t lifetime_max_ns; /* of blocks that were freed; 0: none was */
};

struct survivors {
	struct survivor *list; /* most suspect bytes first, then most in use */
	size_t count;
	struct usage in_use, old, young; /* without errors */
	uint64_t suspect_bytes;
	uint64_t young_ns;
};
/* Call sites with blocks in use at the end. Blocks younger than `young_ns` (NO_TIME: a hundredth of
 * the recording) are young whatever their call site does. */
int query_survivors(struct view *view, const struct filter *filter, uint64_t young_ns,
		    struct survivors *ret_survivors, struct err_text *err);
void survivors_done(struct survivors *survivors);

/* ---- two recordings, or two moments of one ---- */

struct diff_side {
	struct view *view;
	const struct filter *filter;
	enum value value;
	uint64_t at_ns;
};

struct diff_entry {
	/* From the new recording if it is there, else from the base. */
	const char *function, *file, *module;
	uint32_t line;
	uint32_t base_node, new_node; /* heaviest backtrace; NO_NODE: not there */
	enum diff_kind { DIFF_ADDED, DIFF_REMOVED, DIFF_CHANGED } kind;
	struct usage base, now;
	int64_t bytes, blocks; /* now - base */
	double bytes_error;
};
#define NO_NODE UINT32_MAX

struct diff {
	struct diff_entry *list; /* what differs, largest difference of bytes first */
	size_t count;
	size_t same; /* groups without a difference, left out */
	struct usage base, now;
	int64_t bytes, blocks;			/* now - base */
	uint64_t added_bytes, added_blocks;	/* of groups that only the new recording has */
	uint64_t removed_bytes, removed_blocks; /* that only the base has */
	uint64_t grown_bytes, shrunk_bytes;	/* of those that both have */
	size_t added, removed, changed;
};
/*
 * Groups of one side held against the same groups of the other. A frame is the same if it has the
 * same offset in a module of the same build id; in a module that the two have in different builds,
 * or without a build id, if module name and function are the same, inlined functions included. A
 * backtrace is the same if all its frames are.
 */
int query_diff(const struct diff_side *base, const struct diff_side *now, enum grouping grouping,
	       struct diff *ret_diff, struct err_text *err);
void diff_done(struct diff *diff);

struct tree_change {
	uint64_t base_bytes, base_blocks, now_bytes,
		now_blocks; /* of everything below, itself included */
};

/* Both sides in one tree: frames are the same if function and module's name are. A frame has as
 * much (bytes, blocks, self_bytes...) as both sides need: of itself the greater of the two, and
 * what is below. */
struct tree_diff {
	struct tree tree;
	struct tree_change *changes; /* by index in tree.nodes */
	struct usage base_total, now_total;
};
int query_tree_diff(const struct diff_side *base, const struct diff_side *now,
		    struct tree_diff *ret_diff, struct err_text *err);
void tree_diff_done(struct tree_diff *diff);

/* ---- blocks by backtrace and thread ---- */

struct thread_group {
	uint32_t node, thread;	       /* thread: number; 0: not known */
	struct usage allocated, value; /* without errors */
};

struct thread_groups {
	struct thread_group *list; /* by node, then thread */
	size_t count;
	struct usage allocated, value;
	uint64_t at_ns; /* the moment of VALUE_IN_USE and VALUE_PEAK */
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
	struct usage culled; /* of all, where these are without what was culled */
	uint64_t peak_ns;    /* of all: the first moment at which most of its bytes were in use */
};

struct allocation_groups {
	struct allocation_group *list; /* by node */
	size_t count;
};
/* Groups with at least one matched block, culled ones among them. */
int query_allocation_groups(struct view *view, const struct filter *filter,
			    struct allocation_groups *ret_groups, struct err_text *err);
/* The same of what there are rows of: without culled blocks. */
int query_kept_groups(struct view *view, const struct filter *filter,
		      struct allocation_groups *ret_groups, struct err_text *err);
void allocation_groups_done(struct allocation_groups *groups);
