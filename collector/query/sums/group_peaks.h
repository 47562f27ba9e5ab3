#pragma once
/* The moment at which each backtrace had most in use, of all rows. */
#include "collector/query/sums/node_sums.h"

/* Fills `peaks`, by index in the list of `sums` (sums of all rows): the first moment at which most
 * bytes of the backtrace were in use; of one of which nothing ever was, its first birth. What has
 * no rows is left as it was. 0 or a negative errno. */
int group_peaks_find(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		     struct err_text *err);

/* group_queues.c: the same, of rows in the order of birth. 1: they are not, or too many deaths
 * would have to be kept at hand. */
int group_queues_peaks(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		       struct err_text *err);

/* For tests: how many deaths wait at a time; 0: as usual. */
void group_peaks_set_room(uint32_t deaths);
