#pragma once
/* The moment that a value speaks of: the peak, the end of the recording, or one that was asked
 * for. */
#include <stdint.h>

#include "collector/query/query.h"

/* Determines the moment of `value`: the peak for VALUE_PEAK, otherwise `at_ns` (NO_TIME: the
 * end). */
int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter,
		 uint64_t *ret_ns, struct err_text *err);
/* Determines the first moment at which the total in use of all blocks was highest, from the index
 * of usage over time, which the view keeps. `filter` chooses no blocks here: making the index can
 * be cancelled by it, and tells it how far it is. */
int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns,
		struct err_text *err);
