/*
 * Finds the peaks of backtraces. Rows are nearly always in the order of birth (group_queues.c). If
 * they are not, births and deaths are followed in the order of time for all backtraces at once
 * (courses.h).
 */
#include "collector/query/sums/group_peaks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/time/courses.h"

#include "base/ban.h"

static int follow_courses(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
			  struct err_text *err)
{
	const struct course_groups groups = {sums->by_node, sums->nodes, sums->count};
	cleanup(cleanup_free) struct course *list = calloc((size_t)sums->count + 1, sizeof(*list));
	int r;

	if (!list)
		return -ENOMEM;
	r = courses_follow(&(struct history_of){.matcher = all, .nodes = true}, &groups, list, err);
	for (uint32_t g = 0; !r && g < sums->count; g++)
		if (list[g].begun)
			peaks[g] = list[g].most_ns;
	return r;
}

int group_peaks_find(const struct node_sums *sums, const struct matcher *all, uint64_t *peaks,
		     struct err_text *err)
{
	struct matcher seeing = *all;
	int r;

	seeing.hides_survivors = false;
	r = group_queues_peaks(sums, &seeing, peaks, err);
	if (r == 1)
		r = follow_courses(sums, &seeing, peaks, err);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
