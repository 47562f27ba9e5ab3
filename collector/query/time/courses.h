#pragma once
/*
 * The bytes of groups over time. Births and deaths are followed in the order of time (history.h)
 * for all groups at once. For each part of the time the result holds the change of a group's bytes,
 * and the maximum above the value at the part's start. Parts are joined in order.
 */
#include "collector/query/time/history.h"

struct course {
	bool begun;    /* there was an event */
	int64_t bytes; /* change since the beginning */
	/* The maximum after a step; 0 if the group never had anything in use. */
	int64_t most;
	uint64_t most_ns;  /* the first time of that maximum */
	uint64_t first_ns; /* time of the first step */
};

/* Maps nodes to groups: `of_node` has a group's number + 1 for each node, 0 for nodes of no
 * group. */
struct course_groups {
	const uint32_t *of_node;
	uint32_t nodes; /* a higher node counts as 0 */
	uint32_t count;
};

/* Fills `list` by group, which must be zero. The events of `of` have nodes. Returns 0 or a negative
 * errno. */
int courses_follow(const struct history_of *of, const struct course_groups *groups,
		   struct course *list, struct err_text *err);
