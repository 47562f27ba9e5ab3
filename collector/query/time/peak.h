#pragma once
/* The moment of a value: the peak, the end of the recording, or the requested moment. */
#include <stdint.h>

#include "collector/query/query.h"

/* Determines the moment of `value`: the peak for VALUE_PEAK, otherwise `at_ns` (NO_TIME: the
 * end). */
int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter,
		 uint64_t *ret_ns, struct err_text *err);
/* Finds the first moment at which the total in use of all blocks was highest, from the index of
 * usage over time, which the view keeps. `filter` selects no blocks here; it only cancels the
 * making of the index and receives its progress. */
int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns,
		struct err_text *err);
