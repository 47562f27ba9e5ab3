#pragma once
/* Query results as JSON. The commands' --json and the REST API use the same rows. Times of the
 * recording are in nanoseconds since its start (`_ns`). */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/answers/answer.h"
#include "collector/answers/weight.h"
#include "collector/query/hidden.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/query.h"
#include "collector/query/suppress.h"

/* Descriptions of the results (answer.h). */
extern const struct answer group_answer, groups_answer, report_answer, timeline_answer,
	told_timeline_answer, histogram_answer, survivors_answer, diff_answer, fragmentation_answer,
	flame_answer, hidden_answer /* describes struct hidden_function */, suppressed_answer;
/* Describe the sum of the leaks without its groups, and a struct survivor. */
extern const struct answer survivors_sum_answer, survivor_answer;

/* Memory in use over time. If the list has bands, they are stacked on top of each other. */
struct told_timeline {
	struct timeline timeline;
	struct series_list series;
	enum export_weight weight; /* of the bands' values */
};
void told_timeline_done(struct told_timeline *told);

/* Options for writing a tree as columns; flame.c describes the columns. */
struct flame_options {
	const struct usage *total, *base_total; /* base_total NULL: no difference */
	const struct tree_change *changes;	/* the changes of a difference; NULL: none */
	uint64_t count;				/* maximum number of nodes, including the root */
	const atomic_bool *cancelled;
};
/* Returns 0, -ENOMEM or -ECANCELED. */
int json_flame(struct json *json, const struct tree *tree, const struct flame_options *options);
