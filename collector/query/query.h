#pragma once
/*
 * Questions: (recording, symbols, parameters) -> a result. No printing, no sockets. The command line, HTTP, exports and the page
 * render the same results, so the number in a terminal is the number in the browser.
 *
 * Definitions (docs/manual has them for people):
 *   allocated   every matched block, whatever became of it
 *   in use      blocks alive at a moment T: born at or before T, not dead at T
 *   leaked      not freed when the recording ended, and not censored
 *   temporary   freed (REST, as the seed has it)
 *   peak        in use at the first moment at which the total in use of all blocks was highest
 * A block stands for `weight` bytes and weight / size blocks if it was sampled, else for itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err_text;
struct recording;
struct symbols;
struct symbol;

/* A recording with symbols and the names that queries look at; built once, shared by queries of one thread. */
struct view;
int view_new(struct recording *recording, struct symbols *symbols, struct view **ret_view, struct err_text *err);
void view_free(struct view *view);
struct recording *view_recording(const struct view *view);
/* After recording_refresh. */
int view_refresh(struct view *view, struct err_text *err);
/* Symbols of a node, looked up in batch for all nodes at the first call. Never NULL for a valid node. */
const struct symbol *view_symbol(struct view *view, uint32_t node, struct err_text *err);

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

/* The allocation filter of the REST API and of the command line. Unset: the widest value. */
struct filter {
	uint64_t from_ns, to_ns; /* birth, both included */
	enum filter_lifetime lifetime;
	uint64_t address_min, address_max;
	uint64_t size_min, size_max;
	uint64_t lifetime_min_ns, lifetime_max_ns; /* a block in use has lived until the end of the recording */
	uint32_t depth_min, depth_max;
	uint32_t backtrace; /* node; 0: any */
	char *function_regex, *source_regex, *negative_function_regex, *negative_source_regex;
	uint64_t alive_at_ns; /* NO_TIME: not asked */
	uint32_t thread;      /* 0: any */
};

void filter_init(struct filter *filter);
void filter_done(struct filter *filter);
/* Sets what `name` (as in the REST API, with '_' or '-') says to `value`. -EINVAL: the sentence names parameter and what it takes;
 * -ENOENT: no filter has that name. */
int filter_set(struct filter *filter, const struct view *view, const char *name, const char *value,
	       struct err_text *err);

/* Row by row: calls `row` for each that matches, in order; not 0 stops and is returned. */
struct row_block;
int query_each(struct view *view, const struct filter *filter,
	       int (*row)(void *context, const struct row_block *block, uint32_t index), void *context,
	       struct err_text *err);

/* ---- results ---- */

struct usage {
	uint64_t blocks; /* estimated where sampled */
	uint64_t bytes;
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

struct report {
	struct usage allocated, leaked, temporary, peak;
	uint64_t peak_ns;
	uint64_t duration_ns;
	uint64_t allocations, frees, reallocations, failed;
	uint64_t distinct_stacks;
	uint32_t threads, modules;
};
int query_report(struct view *view, const struct filter *filter, struct report *ret_report, struct err_text *err);

/* Blocks grouped by call site. */
enum grouping {
	GROUP_BY_BACKTRACE, /* the whole stack */
	GROUP_BY_SITE,	    /* the innermost frame that is not an allocator's own (operator new, libstdc++ internals...) */
};

struct group {
	uint32_t node;	/* innermost node of the stack (of the heaviest one of a site) */
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
};
int query_groups(struct view *view, const struct filter *filter, enum grouping grouping, enum value value,
		 uint64_t at_ns, struct groups *ret_groups, struct err_text *err);
void groups_done(struct groups *groups);

/* The tree of frames, outermost first, inlined frames included; children heaviest first. */
struct tree_node {
	const char *function; /* demangled, or "[libc.so.6+0x1234]", "[truncated]"... */
	const char *module, *file;
	uint32_t line;
	uint32_t first_child, next_sibling; /* indices; 0: none */
	uint64_t bytes, blocks;		    /* of everything below, itself included */
	uint64_t self_bytes, self_blocks;
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root, without a function */
	size_t count;
};
int query_tree(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns, struct tree *ret_tree,
	       struct err_text *err);
void tree_done(struct tree *tree);

/* Text of one frame, as every renderer shows it: function, else "[module+0xoffset]". Valid as long as the view. */
const char *view_frame_name(struct view *view, uint32_t node, uint32_t inline_index);
