#pragma once
/* What sources add for the question that top.h answers: what backtraces had in use, and the call
 * sites of backtraces. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "collector/fleet/top.h"
#include "collector/recording/stream_id.h"

struct stream_summary;
struct sums_site;

/* Texts of call sites are numbers of `texts`. */
struct fleet_top_site {
	uint32_t function, module, file, line;
	bool known;
};

/* Changes of what is in use, as in minutes.h. */
struct fleet_top_use {
	int64_t bytes, units, variance;
};

static inline bool fleet_top_is_none(const struct fleet_top_use *use)
{
	return !use->bytes && !use->units && !use->variance;
}

struct fleet_top_stack {
	uint64_t id;   /* stack_ids.h */
	uint32_t site; /* number of a call site; 0: not known yet */
	struct fleet_top_use use;
};

struct fleet_top_loading {
	const struct fleet_top_question *question;
	struct stream_summary
		*streams; /* those that were recorded then, in the order of their ids */
	size_t count;
	/* All other streams that the question chose: they were not recorded then. */
	struct stream_id *others;
	uint32_t other_count, others_capacity;
	uint32_t minute;
	struct fleet_top *top;
	/* ---- what is added ---- */
	struct intern texts, site_keys;
	struct fleet_top_site *sites; /* by number */
	uint32_t sites_capacity;
	struct map numbers; /* backtrace -> index + 1 */
	struct fleet_top_stack *stacks;
	uint32_t stack_count, stacks_capacity;
};

/* Returns the number of a call site, or 0 without memory. */
uint32_t fleet_top_site(struct fleet_top_loading *loading, const struct sums_site *site);
/* Adds to what a backtrace has in use. `site`: 0, if the source names backtraces later. Returns 0
 * or -ENOMEM. */
int fleet_top_add(struct fleet_top_loading *loading, uint64_t stack, uint32_t site,
		  const struct fleet_top_use *use);
/* Counts a stream that could not be read, and keeps the first reason. Returns 0 or -ENOMEM. */
int fleet_top_unread(struct fleet_top_loading *loading, const char *why);
/* Reports progress. Returns 0, or -ECANCELED if the question was withdrawn. */
int fleet_top_progress(const struct fleet_top_loading *loading, uint64_t done);
