#pragma once
/* A timeline of what a matcher lets through, and the moments of its peaks. */
#include "collector/query/match/matcher.h"

/* *ret_moments (not NULL; the caller frees it): of each bucket the first moment at which most
 * bytes, or `blocks`, were in use. */
int timeline_with_peaks(struct view *view, const struct matcher *matcher,
			const struct timeline_question *question, bool blocks,
			struct timeline *ret_timeline, uint64_t **ret_moments,
			struct err_text *err);
