/* Makes the index of usage over time, which the view keeps. See view_usage_index in view.h. */
#include "collector/query/match/view.h"

#include <stddef.h>

#include "collector/query/match/matcher.h"
#include "collector/query/time/usage_index.h"

#include "base/ban.h"

static void view_index_forget(struct kept_index *usage)
{
	usage_index_free(usage->index);
	usage->index = NULL;
	result_file_close(&usage->kept);
}

void view_forget_indexes(struct view *view)
{
	view_index_forget(&view->usage[false]);
	view_index_forget(&view->usage[true]);
	for (unsigned i = 0; i < 2; i++)
		filtered_indexes_forget(&view->filtered[i]);
}

static int view_index_make(struct view *view, const struct matcher *all, bool leaked,
			   struct err_text *err)
{
	const struct history_of of = {.matcher = all};
	struct kept_index *usage = &view->usage[leaked];
	int r;

	if (usage_index_load(view->recording, leaked, &usage->kept, &usage->index) == 0)
		return 0;
	view_index_forget(usage);
	r = usage_index_new(&of, &usage->index, err);
	if (!r)
		usage_index_save(usage->index, view->recording, leaked);
	return r;
}

int view_usage_index(struct view *view, const struct filter *filter, bool leaked,
		     const struct usage_index **ret_index, struct err_text *err)
{
	struct matcher all;
	int r;

	matcher_init_all(&all, view->recording, filter);
	if (leaked)
		matcher_only_leaked(&all);
	r = view_lock(&view->index_lock, &all, err);
	if (r < 0)
		return r;
	if (!view->usage[leaked].index)
		r = view_index_make(view, &all, leaked, err);
	*ret_index = view->usage[leaked].index;
	pthread_mutex_unlock(&view->index_lock);
	return r;
}

const struct usage_index *view_usage_index_known(struct view *view)
{
	struct kept_index *usage = &view->usage[false];
	const struct usage_index *index;

	if (pthread_mutex_trylock(&view->index_lock))
		return NULL;
	if (!usage->index &&
	    usage_index_load(view->recording, false, &usage->kept, &usage->index) < 0)
		view_index_forget(usage);
	index = usage->index;
	pthread_mutex_unlock(&view->index_lock);
	return index;
}
