#pragma once
/*
 * The filters of the REST API and of the command line. Each filter is one row of FILTERS. The row
 * determines the member of struct filter, the reader of its value, the option with its help, the
 * parameter in /openapi.json, whether it applies to maps, the test whether it is set, and its part
 * in the keys of saved results. A row cannot express how rows of allocations are matched; matcher.c
 * and matcher_block.c do that.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "collector/columns/row_block.h"

struct buf;
struct err_text;
struct suppressions;
struct view;

enum filter_lifetime {
	LIFETIME_ALL,
	LIFETIME_ONLY_LEAKED,
	LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE,
	LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE,
	LIFETIME_ONLY_FREED,
	LIFETIME_ONLY_WHOLE_GROUP_LEAKED,
	LIFETIME_ONLY_CHAIN_LEAKED,
};

enum filter_answer { ANSWER_ANY, ANSWER_YES, ANSWER_NO };

/* What folded stacks and call sites leave out. */
enum filter_hide {
	HIDE_DEFAULT, /* like HIDE_AUTO; formats that other tools fold show everything */
	HIDE_AUTO,    /* functions that fit a rule, and wrappers that pass most allocations on */
	HIDE_RULES,   /* functions that fit a rule (match/sites.c, --hide-rules) */
	HIDE_NONE,
};

struct filter_share {
	double number;
	uint64_t percent; /* 1: a percentage of the group's allocations; 64 bits wide to avoid
			     padding */
};

#define NO_MARKER UINT64_MAX

#define FILTER_LIFETIMES                                                                           \
	"all, only_leaked, only_freed, only_whole_group_leaked, only_chain_leaked, "               \
	"only_not_deallocated_in_current_range or only_deallocated_in_current_range"

/* What a filter has to examine. */
enum filter_parts {
	FILTER_ROW = 1,	      /* the row itself */
	FILTER_STACK = 2,     /* its backtrace */
	FILTER_GROUP = 4,     /* all rows of its backtrace */
	FILTER_CHAIN = 8,     /* its chain of reallocs */
	FILTER_POSITION = 16, /* its place in the chain */
	FILTER_BITS = 32,     /* what happened meanwhile */
	FILTER_ORIGIN = 64,   /* where its memory came from */
	FILTER_MAPS = 128,    /* in addition to one of these: applies to maps, too */
};

/*
 * X(type, member, unset, reader, name, takes, about, parts, columns)
 *
 *	type, member	of struct filter
 *	unset		its widest value: no condition
 *	reader		filter_read_READER of filter.c
 *	name		of the option; in the REST API with '_'
 *	takes, about	what --help and /openapi.json say
 *	parts		enum filter_parts; 0: it selects no rows
 *	columns		enum row_columns that rows are matched by
 */
#define FILTERS(X)                                                                                 \
	X(uint64_t, from_ns, 0, time, "from", "TIME",                                              \
	  "allocated at this time or later: 10s after the start, 50% of the recording, or "        \
	  "seconds since 1970",                                                                    \
	  FILTER_ROW | FILTER_MAPS, ROWS_BIRTH)                                                    \
	X(uint64_t, to_ns, UINT64_MAX, until, "to", "TIME",                                        \
	  "allocated at this time or earlier: 10s after the start, 50%", FILTER_ROW | FILTER_MAPS, \
	  ROWS_BIRTH)                                                                              \
	X(enum filter_lifetime, lifetime, LIFETIME_ALL, lifetime, "lifetime", "WHICH",             \
	  FILTER_LIFETIMES ": what became of it", FILTER_ROW | FILTER_MAPS, 0)                     \
	X(uint64_t, address_min, 0, address, "address-min", "ADDRESS",                             \
	  "at this address or above: 0x7f0000000000", FILTER_ROW | FILTER_MAPS, ROWS_ADDRESS)      \
	X(uint64_t, address_max, UINT64_MAX, address, "address-max", "ADDRESS",                    \
	  "at this address or below: 0x7fffffffffff", FILTER_ROW | FILTER_MAPS, ROWS_ADDRESS)      \
	X(uint64_t, size_min, 0, size, "size-min", "SIZE", "of this many bytes or more: 100, 4K",  \
	  FILTER_ROW | FILTER_MAPS, ROWS_SIZE)                                                     \
	X(uint64_t, size_max, UINT64_MAX, size, "size-max", "SIZE",                                \
	  "of this many bytes or fewer: 100, 4K", FILTER_ROW | FILTER_MAPS, ROWS_SIZE)             \
	/* A block in use has lived until the end of the recording. */                             \
	X(uint64_t, lifetime_min_ns, 0, duration, "lifetime-min", "TIME",                          \
	  "lived this long or longer, in seconds or with a unit: 10, 100ms, 4h3m2s",               \
	  FILTER_ROW | FILTER_MAPS, ROWS_BIRTH | ROWS_DEATH)                                       \
	X(uint64_t, lifetime_max_ns, UINT64_MAX, duration, "lifetime-max", "TIME",                 \
	  "lived this long or shorter, in seconds or with a unit: 10, 100ms",                      \
	  FILTER_ROW | FILTER_MAPS, ROWS_BIRTH | ROWS_DEATH)                                       \
	X(uint32_t, depth_min, 0, number, "backtrace-depth-min", "N",                              \
	  "with this many frames in the backtrace or more: 5", FILTER_STACK | FILTER_MAPS, 0)      \
	X(uint32_t, depth_max, UINT32_MAX, number, "backtrace-depth-max", "N",                     \
	  "with this many frames in the backtrace or fewer: 5", FILTER_STACK | FILTER_MAPS, 0)     \
	/* Numbers of nodes; 0: any. */                                                            \
	X(uint32_t, backtrace, 0, node, "backtraces", "ID",                                        \
	  "allocated with the backtrace of this number (backtrace_id of --json): 17",              \
	  FILTER_ROW | FILTER_MAPS, ROWS_STACK)                                                    \
	X(uint32_t, deallocation_backtrace, 0, node, "deallocation-backtraces", "ID",              \
	  "freed with the backtrace of this number: 17", FILTER_ROW | FILTER_MAPS,                 \
	  ROWS_DEATH_STACK)                                                                        \
	/* NULL: any */                                                                            \
	X(char *, function_regex, NULL, regex, "function-regex", "REGEX",                          \
	  "a function of the backtrace matches: '^parse_'", FILTER_STACK | FILTER_MAPS, 0)         \
	X(char *, source_regex, NULL, regex, "source-regex", "REGEX",                              \
	  "a source file of the backtrace matches: 'net/.*[.]c$'", FILTER_STACK | FILTER_MAPS, 0)  \
	X(char *, negative_function_regex, NULL, regex, "negative-function-regex", "REGEX",        \
	  "no function of the backtrace matches: '^parse_'", FILTER_STACK | FILTER_MAPS, 0)        \
	X(char *, negative_source_regex, NULL, regex, "negative-source-regex", "REGEX",            \
	  "no source file of the backtrace matches: 'net/'", FILTER_STACK | FILTER_MAPS, 0)        \
	X(uint64_t, alive_at_ns, NO_TIME, time, "alive-at", "TIME",                                \
	  "alive at this moment: 10s after the start, 50%", FILTER_ROW | FILTER_MAPS,              \
	  ROWS_BIRTH | ROWS_DEATH)                                                                 \
	X(uint64_t, alive_at_2_ns, NO_TIME, time, "alive-at-2", "TIME",                            \
	  "alive at this moment as well: 20s, 75%", FILTER_ROW | FILTER_MAPS,                      \
	  ROWS_BIRTH | ROWS_DEATH)                                                                 \
	X(uint32_t, thread, 0, thread, "thread", "N",                                              \
	  "allocated by the thread of this number, counted from 1: 2", FILTER_ROW | FILTER_MAPS,   \
	  ROWS_THREAD)                                                                             \
	X(char *, thread_name, NULL, regex, "thread-name", "REGEX",                                \
	  "allocated by a thread whose name matches: '^io-'", FILTER_ROW | FILTER_MAPS,            \
	  ROWS_THREAD)                                                                             \
	X(char *, module, NULL, module, "module", "NAME",                                          \
	  "a frame of the backtrace is in this library or program: libc.so.6, /usr/bin/app",       \
	  FILTER_STACK | FILTER_MAPS, 0)                                                           \
	X(char *, tag, NULL, text, "tag", "TEXT",                                                  \
	  "allocated while its thread bore this label (heapcast_label): startup", FILTER_BITS, 0)  \
	X(enum filter_answer, freed_at_once, ANSWER_ANY, answer, "temporary", "WHICH",             \
	  "yes or no: freed before its thread allocated again", FILTER_BITS, 0)                    \
	/* The origin of the block; glibc_heap.h. */                                               \
	X(enum filter_answer, mmaped, ANSWER_ANY, answer, "mmaped", "WHICH",                       \
	  "yes or no: glibc gave it a mapping of its own", FILTER_ORIGIN, 0)                       \
	X(enum filter_answer, main_arena, ANSWER_ANY, arena, "arena", "WHICH",                     \
	  "main or non_main: which of glibc's arenas it came from", FILTER_ORIGIN, 0)              \
	X(enum filter_answer, jemalloc, ANSWER_ANY, answer, "jemalloc", "WHICH",                   \
	  "yes or no: it came from libjemalloc", FILTER_ORIGIN, 0)                                 \
	X(uint64_t, marker, NO_MARKER, marker, "marker", "N",                                      \
	  "allocated while the program's marker was this number (heapcast_mark): 3",               \
	  FILTER_ORIGIN, 0)                                                                        \
	X(uint64_t, from_map, NO_MARKER, marker, "from-map", "ID",                                 \
	  "it lay in the map of this number, as /data/ID/maps counts them: 5", FILTER_ORIGIN, 0)   \
	/* Not a condition: what trees and call sites leave out. */                                \
	X(enum filter_hide, hide, HIDE_DEFAULT, hide, "hide", "WHICH",                             \
	  "auto, rules or none: call sites and trees without functions that only pass "            \
	  "allocations on: known by name and found by their share (auto, the default), or by "     \
	  "name alone (rules)",                                                                    \
	  0, 0)                                                                                    \
	/* The block's chain of reallocs. */                                                       \
	X(uint64_t, first_size_min, 0, size, "first-size-min", "SIZE",                             \
	  "the first block of its chain of reallocs had this many bytes or more: 4K",              \
	  FILTER_CHAIN, 0)                                                                         \
	X(uint64_t, first_size_max, UINT64_MAX, size, "first-size-max", "SIZE",                    \
	  "the first block of its chain of reallocs had this many bytes or fewer: 4K",             \
	  FILTER_CHAIN, 0)                                                                         \
	X(uint64_t, last_size_min, 0, size, "last-size-min", "SIZE",                               \
	  "the last block of its chain of reallocs had this many bytes or more: 4K", FILTER_CHAIN, \
	  0)                                                                                       \
	X(uint64_t, last_size_max, UINT64_MAX, size, "last-size-max", "SIZE",                      \
	  "the last block of its chain of reallocs had this many bytes or fewer: 4K",              \
	  FILTER_CHAIN, 0)                                                                         \
	X(uint64_t, chain_length_min, 0, count, "chain-length-min", "N",                           \
	  "its chain of reallocs has this many blocks or more: 3", FILTER_CHAIN, 0)                \
	X(uint64_t, chain_length_max, UINT64_MAX, count, "chain-length-max", "N",                  \
	  "its chain of reallocs has this many blocks or fewer: 3", FILTER_CHAIN, 0)               \
	/* A chain that has not ended has lived until the end of the recording. */                 \
	X(uint64_t, chain_lifetime_min_ns, 0, duration, "chain-lifetime-min", "TIME",              \
	  "its chain of reallocs lived this long or longer, in seconds or with a unit: 10, 100ms", \
	  FILTER_CHAIN, 0)                                                                         \
	X(uint64_t, chain_lifetime_max_ns, UINT64_MAX, duration, "chain-lifetime-max", "TIME",     \
	  "its chain of reallocs lived this long or shorter: 10, 100ms", FILTER_CHAIN, 0)          \
	X(uint64_t, position_min, 0, count, "position-in-chain-min", "N",                          \
	  "this many reallocs of its chain came before it, or more: 1", FILTER_POSITION, 0)        \
	X(uint64_t, position_max, UINT64_MAX, count, "position-in-chain-max", "N",                 \
	  "this many reallocs of its chain came before it, or fewer: 0", FILTER_POSITION, 0)       \
	/* All blocks of the same backtrace; from the first birth to the last. */                  \
	X(uint64_t, group_interval_min_ns, 0, interval, "group-interval-min", "TIME",              \
	  "its backtrace's first and last allocation lie this far apart or farther: 10s, 50%",     \
	  FILTER_GROUP, 0)                                                                         \
	X(uint64_t, group_interval_max_ns, UINT64_MAX, interval, "group-interval-max", "TIME",     \
	  "its backtrace's first and last allocation lie this far apart or nearer: 10s, 50%",      \
	  FILTER_GROUP, 0)                                                                         \
	X(uint64_t, group_allocations_min, 0, count, "group-allocations-min", "N",                 \
	  "its backtrace has this many allocations or more: 100", FILTER_GROUP, 0)                 \
	X(uint64_t, group_allocations_max, UINT64_MAX, count, "group-allocations-max", "N",        \
	  "its backtrace has this many allocations or fewer: 100", FILTER_GROUP, 0)                \
	X(struct filter_share, group_leaked_min, ((struct filter_share){0, 0}), share,             \
	  "group-leaked-allocations-min", "N",                                                     \
	  "this many allocations of its backtrace were not freed, or more: 10, 50%", FILTER_GROUP, \
	  0)                                                                                       \
	X(struct filter_share, group_leaked_max, ((struct filter_share){-1, 0}), share,            \
	  "group-leaked-allocations-max", "N",                                                     \
	  "this many allocations of its backtrace were not freed, or fewer: 10, 50%",              \
	  FILTER_GROUP, 0)                                                                         \
	/* The first moment at which the group had most bytes in use. */                           \
	X(uint64_t, group_peak_min_ns, 0, moment, "group-max-total-usage-first-seen-min", "TIME",  \
	  "its backtrace first had most in use at this time or later: 10s, 50%", FILTER_GROUP, 0)  \
	X(uint64_t, group_peak_max_ns, UINT64_MAX, moment, "group-max-total-usage-first-seen-max", \
	  "TIME", "its backtrace first had most in use at this time or earlier: 10s, 50%",         \
	  FILTER_GROUP, 0)

/* Unset members have their widest value. */
struct filter {
#define FILTER_MEMBER(type, member, ...) type member;
	FILTERS(FILTER_MEMBER)
#undef FILTER_MEMBER
	bool before_start; /* `to` lies before the recording: nothing matches */
	/* Preview: one of this many runs of PREVIEW_ROWS is examined and stands for all. 0: no
	 * preview. */
	uint32_t one_in;
	/* Rows selected by another module (collector/sql); owned by the filter. NULL: any. */
	struct row_bits *only;
	/* Backtraces that are left out (suppress.h); lent to the filter. NULL: none. */
	const struct suppressions *suppress;
	bool only_suppressed;	   /* the other way round: nothing but these */
	struct cancel cancel;	   /* ends the query soon with -ECANCELED or -ETIME */
	struct progress *progress; /* may be NULL */
};

/* The progress of a query, in blocks of rows: blocks examined, and blocks to examine in all passes
 * that have begun. A query may make several passes, one after the other. Any thread may read it
 * meanwhile. */
struct progress {
	atomic_uint_fast64_t done, of;
	/* Called after a block from time to time, on the thread that asked. May be NULL. */
	void (*show)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/*
 * Number of neighbouring rows, which have about the same time; a power of two that divides a block
 * of rows. A preview treats each row as sampled with one in `one_in`: sums are estimates without
 * bias, and carry an error. The rows of a run are more alike than this error assumes. Previews
 * apply to queries that sweep or follow rows (sweep_run, history.h).
 */
#define PREVIEW_ROWS 1024u

/* One bit per row for the first `rows` rows; other rows do not match. */
struct row_bits {
	uint64_t rows;
	uint8_t bits[];
};
/* All bits are 0. Returns NULL without memory. The caller frees it with free. */
struct row_bits *row_bits_new(uint64_t rows);

void filter_init(struct filter *filter);
void filter_done(struct filter *filter);
/* Returns true if the filter selects blocks that are alive, at the end or at a moment. Survivors
 * then match, too. */
bool filter_asks_alive(const struct filter *filter);
/* Sets the filter `name` (as in the REST API, with '_' or '-') to `value`. Returns -EINVAL with an
 * error text that names the parameter and what it takes, or -ENOENT if there is no filter of that
 * name. */
int filter_set(struct filter *filter, const struct view *view, const char *name, const char *value,
	       struct err_text *err);
/* Returns -EINVAL with a sentence if a lower bound is above its upper bound, else 0. */
int filter_check(const struct filter *filter, struct err_text *err);

/*
 * Parses a time as filters take it: a number of at least 1e11 is milliseconds and of at least 1e9
 * seconds since the epoch, a smaller number is seconds since the start; also "10s", "4h3m2s",
 * "100ms", and "50%" of the recording. Times beyond either end become NO_TIME - 1 and 0. Returns 0,
 * 1 if the time lies before the start (0 is written), or -EINVAL with an error text that says what
 * `name` takes.
 */
int query_time(const struct view *view, const char *name, const char *text, uint64_t *ret_ns,
	       struct err_text *err);

/* Returns true if a time is beyond the recording's end, and then writes the end of a sentence about
 * it: "is beyond the end: the recording ends at 15.9 ms". */
bool query_beyond_end(const struct view *view, uint64_t ns, struct err_text *ret_why);
/* Parses a moment that the recording must have: like query_time, but also returns -EINVAL if the
 * moment is beyond the end. */
int query_moment(const struct view *view, const char *name, const char *text, uint64_t *ret_ns,
		 struct err_text *err);

/* Returns the parts of all conditions of the filter; 0: it has none. `only`, `before_start` and
 * `one_in` are not included. */
unsigned filter_asked(const struct filter *filter);
/* Returns the columns with which the conditions are matched (enum row_columns). */
unsigned filter_columns(const struct filter *filter);
/* Returns the parts of the filter `name` (with '_'); 0: there is no such filter. */
unsigned filter_parts_of(const char *name);
/* Appends a key that identifies this selection of rows, except for `only`. */
int filter_put_key(const struct filter *filter, struct buf *key);
