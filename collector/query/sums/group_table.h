#pragma once
/* Sums of blocks by backtrace: what the group filters compare with, and the groups of the REST
 * API. */
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

struct group_stats {
	uint32_t node;
	struct tally allocated, leaked;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns; /* births */
	uint64_t peak_ns; /* the first moment at which most of its bytes were in use; 0 if not asked
			     for */
};

struct group_table {
	struct group_stats *list;
	uint32_t count;
	uint32_t *by_node; /* index + 1 */
	uint32_t nodes;
};

/* Of all blocks, whatever the filter says, which is asked only whether it was withdrawn. `peaks`:
 * also finds peak_ns, which takes longer. 0, -ENOMEM, -ECANCELED; nothing to free then. */
int group_table_init(struct group_table *table, struct view *view, const struct filter *filter,
		     bool peaks, struct err_text *err);
/* The same of a filter's matches, without peaks. */
int group_table_init_matched(struct group_table *table, struct view *view,
			     const struct filter *filter, struct err_text *err);
void group_table_done(struct group_table *table);
/* NULL: no block has this backtrace. */
const struct group_stats *group_table_get(const struct group_table *table, uint32_t node);
