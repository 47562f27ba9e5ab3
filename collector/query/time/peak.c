/* Finds the exact moment at which most bytes were in use, with the index of usage over time
 * (usage_index.h). */
#include <errno.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/time/peak.h"
#include "collector/query/time/usage_index.h"
#include "collector/query/match/view.h"

#include "base/ban.h"

int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns,
		struct err_text *err)
{
	const struct usage_index *index;
	struct matcher all;
	int r = view_usage_index(view, filter, false, &index, err);

	if (r < 0)
		return r;
	matcher_init_all(&all, view->recording, filter);
	return usage_index_peak(index, &(struct history_of){.matcher = &all}, ret_ns, err);
}

int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter,
		 uint64_t *ret_ns, struct err_text *err)
{
	if (value == VALUE_PEAK)
		return peak_moment(view, filter, ret_ns, err);
	*ret_ns = at_ns == NO_TIME ? NO_TIME - 1 : at_ns;
	return 0;
}
