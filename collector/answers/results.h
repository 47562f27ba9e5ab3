#pragma once
/*
 * Query results as JSON: each function writes the members of an object that the caller has opened.
 * The commands' --json and the REST API use the same functions. Times of the recording are in
 * nanoseconds since its start (`_ns`).
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/answers/answer.h"
#include "collector/answers/weight.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/query.h"

/* Descriptions of the results (answer.h). */
extern const struct answer groups_answer, report_answer, timeline_answer, series_answer,
	histogram_answer, survivors_answer, diff_answer, fragmentation_answer, flame_answer;

/* The members of one group. */
void json_group(struct json *json, const struct group *group);
void json_report(struct json *json, const struct report *report);
/* Arrays with one value per bucket. `start_wall_ns` is the wall-clock time at which the recording
 * began. */
void json_timeline(struct json *json, const struct timeline *timeline, uint64_t start_wall_ns);
/* The member "series": bands with one value per bucket. */
void json_series(struct json *json, const struct timeline *timeline,
		 const struct series_list *series, enum export_weight weight);
void json_histogram(struct json *json, const struct histogram *histogram);
void json_survivors(struct json *json, const struct survivors *survivors, uint64_t skip,
		    uint64_t count);
void json_diff(struct json *json, const struct diff *diff, uint64_t skip, uint64_t count);
/* A tree as columns; flame.c describes them. */
struct flame_options {
	const struct usage *total, *base_total; /* base_total NULL: no difference */
	const struct tree_change *changes;	/* the changes of a difference; NULL: none */
	uint64_t count;				/* maximum number of nodes, including the root */
	const atomic_bool *cancelled;
};
/* Returns 0, -ENOMEM or -ECANCELED. */
int json_flame(struct json *json, const struct tree *tree, const struct flame_options *options);
