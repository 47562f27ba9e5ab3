#pragma once
/*
 * How the bytes of groups went over time: births and deaths are followed in the order of time
 * (history.h) for all groups at once. A part of the time tells for each how its bytes changed, and
 * how far above what it was at the part's start it got; parts are put together in order.
 */
#include "collector/query/time/history.h"

struct course {
	bool begun;    /* something happened */
	int64_t bytes; /* since the beginning */
	int64_t most;  /* the highest that it was after a step; of one of which nothing ever was in
			  use: 0 */
	uint64_t most_ns;  /* when first */
	uint64_t first_ns; /* first step of all */
};

/* Whose: `of_node` has a group's number + 1 for each node, 0 of those that are nobody's. */
struct course_groups {
	const uint32_t *of_node;
	uint32_t nodes; /* a higher one counts as 0 */
	uint32_t count;
};

/* Fills `list`, zeros before, by group. `of` has events with nodes. 0 or a negative errno. */
int courses_follow(const struct history_of *of, const struct course_groups *groups,
		   struct course *list, struct err_text *err);
