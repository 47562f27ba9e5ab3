/* Makes the files kept beside the rows of a stream that has ended, before a query needs them. See
 * query.h. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/view.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

int query_prepare(struct view *view, const atomic_bool *cancelled, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	const struct usage_index *index;
	const struct whole_sums *whole;
	struct filter all;
	uint64_t frames;
	int r;

	if (recording_rows(view->recording) < ROWS_PER_BLOCK ||
	    recording_keep(view->recording, "", &path, &frames) < 0)
		return 0;
	filter_init(&all);
	all.cancel.asked = cancelled;
	r = view_usage_index(view, &all, false, &index, err);
	if (!r)
		r = view_usage_index(view, &all, true, &index, err);
	/* Group peaks take longest and only one query needs them, so they are left out. */
	return r < 0 ? r
		     : view_whole_sums(view, &all, WHOLE_PEAK | WHOLE_REALLOCATIONS, &whole, err);
}
