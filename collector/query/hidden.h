#pragma once
/* Functions that only pass allocations on. Call sites and trees leave them out: those that fit a
 * rule (match/sites.c), and wrappers, which are found by the allocations that pass through them
 * (sums/wrappers.c). */
#include "collector/query/query.h"

/* A function that is left out of call sites, because it only passes allocations on. */
struct hidden_function {
	const char *function, *module; /* texts of the view */
	bool is_wrapper;	       /* found by its share of backtraces; false: by a rule */
	uint64_t backtraces;	       /* number of distinct backtraces in which it is left out */
};
/* query_hidden lists what `filter->hide` leaves out of the recording's call sites: wrappers first,
 * then functions that fit a rule, each in descending order of backtraces. The caller frees the
 * list. After either function view_frame knows the wrappers. */
int query_find_wrappers(struct view *view, const struct filter *filter, struct err_text *err);
int query_hidden(struct view *view, const struct filter *filter, struct hidden_function **ret_list,
		 size_t *ret_count, struct err_text *err);

static inline bool view_frame_hidden(const struct view_frame *frame, enum filter_hide hide)
{
	return hide != HIDE_NONE &&
	       (frame->is_allocator || (frame->is_wrapper && hide != HIDE_RULES));
}
/*
 * Makes another name for a function that the built-in rules recognize as passing allocations on.
 * The rules recognize the new name, too, and it reveals nothing but `word`: "std::vector<WORD>".
 * Returns NULL if they do not recognize the function, or without memory. The caller frees the
 * result.
 */
char *site_disguise(const char *function, const char *word);
/* Returns a number that is another one when the built-in rules are others. */
uint64_t site_rules_print(void);
