#pragma once
/* Functions that only pass allocations on, and are left out of call sites and trees: by rules
 * (match/sites.c), and wrappers, found by what passes through them (sums/wrappers.c). */
#include "collector/query/query.h"

/* A function that is left out of call sites, because it only passes allocations on. */
struct hidden_function {
	const char *function, *module; /* texts of the view */
	bool is_wrapper;	       /* found by its share; false: by a rule */
	uint64_t backtraces;	       /* distinct ones in which it is left out */
};
/* Lists what `filter->hide` leaves out of the recording's call sites: wrappers first, then what
 * rules say; of each the ones in most backtraces first. The caller frees the list. From then on
 * view_frame knows wrappers, as it does after query_find_wrappers. */
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
