#pragma once
/*
 * Internals of a view. A *node* is a place in the tree of stacks. A *place* is a (module, offset)
 * pair that many nodes share. A place has one *frame*, and one more for each function inlined
 * there, innermost first. All are numbered, so that queries work on arrays:
 *
 *	place_of[node] -> places[place] -> frames[first_frame .. first_frame + frame_count - 1]
 *	frame.name  a distinct function name (regular expressions are evaluated once for each)
 *	frame.label a distinct (name, module): what the tree merges by
 *	frame.site  a distinct (label, file, line): what call sites are grouped by
 *
 * view_prepare fills all of it under the lock. From then on it is only read, until recording and
 * view are refreshed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/query/time/filtered_index.h"
#include "collector/query/sweep/result_file.h"
#include "collector/query/match/intern.h"
#include "collector/query/query.h"
#include "collector/symbols/strings.h"

struct matcher;
struct usage_index;
struct whole_sums;
struct wrappers;

struct frame {
	uint32_t name, label, site;
	uint32_t file, module; /* texts; 0: unknown */
	uint32_t line, column;
	bool known, allocator, is_inline;
	const char *raw;
};

struct place {
	uint64_t offset;
	uint32_t module;
	uint32_t first_frame, frame_count;
	const struct symbol *symbol;
};

struct view {
	struct recording *recording;
	struct symbols *symbols;
	uint64_t generation; /* number of refreshes that brought something new */

	pthread_mutex_t lock;
	uint32_t nodes; /* number of nodes looked up so far */
	uint32_t nodes_capacity;
	uint32_t *place_of; /* by node */
	struct intern place_keys;
	struct place *places; /* places[0]: "no backtrace" */
	uint32_t place_count, places_capacity;
	struct frame *frames;
	uint32_t frame_count, frames_capacity;
	struct intern names, texts, labels, sites;
	struct arena named; /* symbols made from names that the recording itself holds */
	const struct site_rules *rules; /* NULL: the built-in rules */
	uint8_t *name_is_allocator;	/* by name */
	uint32_t names_capacity;

	pthread_mutex_t index_lock;
	struct kept_index {
		struct usage_index *index;   /* NULL: not made yet */
		struct result_file kept;     /* the file that it was read from */
	} usage[2];			     /* of all rows; of those that were not freed */
	struct filtered_indexes filtered[2]; /* for exact answers; for previews */
	/* The groups that have bands (series.c), highest first, each by one of its stacks. By
	 * grouping, by what is hidden, and for all rows or those that were not freed. */
	struct kept_bands {
		uint64_t generation; /* the view's generation for which they are valid, plus 1 */
		uint32_t count, node[SERIES_MAX];
	} bands[GROUPINGS][HIDE_NONE + 1][2];
	pthread_mutex_t sums_lock;	   /* protects whole_sums */
	struct whole_sums *whole_sums;	   /* whole_sums.h; NULL: not made yet */
	uint64_t *place_allocations;	   /* by place; NULL: not counted yet */
	struct wrappers *_Atomic wrappers; /* NULL: not looked for yet */
};

/* Returns the index of usage over time, of all rows or (`leaked`) of those that were not freed. The
 * first call makes it, which takes a while. The view owns it until view_refresh. `filter` only says
 * whether the question was withdrawn. */
int view_usage_index(struct view *view, const struct filter *filter, bool leaked,
		     const struct usage_index **ret_index, struct err_text *err);
/* Returns the index of all rows if it is there or beside the recording, without waiting; else
 * NULL. */
const struct usage_index *view_usage_index_known(struct view *view);
/* Frees the indexes over time: the rows have changed, or the view ends. */
void view_forget_indexes(struct view *view);

/* Takes a lock that another question may hold for long. The waiting question can still be
 * withdrawn, or reach its deadline; then the result is -ECANCELED or -ETIME. */
int view_lock(pthread_mutex_t *lock, const struct matcher *all, struct err_text *err);

/* Looks up the nodes that are new. Every query that needs names or nodes calls it first. */
int view_prepare(struct view *view, struct err_text *err);

static inline const struct place *view_place(const struct view *view, uint32_t node)
{
	return &view->places[node <= view->nodes ? view->place_of[node] : 0];
}

/*
 * ---- what is hidden ----
 *
 * Functions that only pass allocations on are hidden when stacks are folded and call sites are
 * chosen. Some are known by name (sites.h); a program's own wrappers are found by what passes
 * through them (sums/wrappers.c). Both depend on the recording alone, not on filters, so that a
 * function is hidden in all answers about a recording or in none.
 */

/* A function that some stack hides, as the innermost or behind other hidden functions. */
struct hidden_label {
	uint32_t label, frame; /* frame: an example with this label */
	/* Distinct backtraces of allocations in which it is hidden there: with rules and wrappers,
	 * and with rules alone. */
	uint32_t passed, passed_by_rules;
};

/* The wrappers of a recording. Valid until view_refresh or view_forget_names. */
struct wrappers {
	uint8_t *by_label; /* 1: a wrapper */
	uint32_t labels;   /* highest label */
	uint32_t nodes;	   /* nodes of the recording when it was made */
	struct hidden_label *hidden;
	uint32_t hidden_count;
};

/* What one question hides. */
struct hiding {
	bool rules;
	const uint8_t *wrappers; /* by label; NULL: none */
	uint32_t labels;
};

static inline bool hiding_hides(const struct hiding *hiding, const struct frame *frame)
{
	return hiding->rules &&
	       (frame->allocator || (hiding->wrappers && frame->label <= hiding->labels &&
				     hiding->wrappers[frame->label]));
}

static inline bool view_is_wrapper(const struct view *view, const struct frame *frame)
{
	const struct wrappers *w = view->wrappers;

	return w && frame->label <= w->labels && w->by_label[frame->label];
}

/* Returns the wrappers of the recording. The first call finds them, which takes the sums of all
 * rows (whole_sums.h). `filter` only says whether the question was withdrawn. */
int view_wrappers(struct view *view, const struct filter *filter,
		  const struct wrappers **ret_wrappers, struct err_text *err);
/* Sets `hiding` according to `filter`, and prepares the view. */
int hiding_of(struct hiding *hiding, struct view *view, const struct filter *filter,
	      struct err_text *err);
/* Forgets the wrappers. With `old_only`, keeps them if a growing recording has few new backtraces,
 * so that a question with a narrow filter does not sum up all rows each time. */
void view_forget_wrappers(struct view *view, bool old_only);
