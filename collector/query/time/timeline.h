#pragma once
/* A timeline of the rows that a matcher selects, with the moments of its peaks. */
#include "collector/query/match/matcher.h"

/* *ret_moments (not NULL; the caller frees it) has for each bucket the first moment at which most
 * bytes, or `blocks`, were in use. */
int timeline_with_peaks(struct view *view, const struct matcher *matcher,
			const struct timeline_question *question, bool blocks,
			struct timeline *ret_timeline, uint64_t **ret_moments,
			struct err_text *err);
