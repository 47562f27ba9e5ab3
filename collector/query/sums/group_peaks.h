#pragma once
/* Finds for each backtrace the moment at which it had most in use, over all rows. */
#include "collector/query/sums/node_sums.h"

/* Fills `peaks`, by index in the list of `sums` (sums of all rows), with the first moment at which
 * most bytes of the backtrace were in use. A backtrace that never had any in use gets its first
 * birth. Backtraces without rows keep their value. Returns 0 or a negative errno. */
int group_peaks_find(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		     struct err_text *err);

/* Defined in group_queues.c: the same for rows in the order of birth. Returns 1 if the rows are not
 * in that order, or if too many deaths would have to be held in memory. */
int group_queues_peaks(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		       struct err_text *err);

/* For tests: maximum number of deaths held at a time; 0: the default. */
void group_peaks_set_room(uint32_t deaths);
