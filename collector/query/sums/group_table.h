#pragma once
/* Sums of blocks by backtrace, which group filters compare with, and the groups of the REST API. */
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

struct group_stats {
	uint32_t node;
	struct tally allocated, leaked;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns; /* births */
	/* The first moment at which the group had most bytes in use; 0 if not asked for. */
	uint64_t peak_ns;
};

struct group_table {
	struct group_stats *list;
	uint32_t count;
	uint32_t *by_node; /* index + 1 */
	uint32_t nodes;
};

/* Sums up all blocks. `filter` only says whether the question was withdrawn. `peaks`: also
 * determines peak_ns, which takes longer. Returns 0 or a negative errno (-ENOMEM, -ECANCELED,
 * -ETIME, or an error of reading); on failure there is nothing to free. */
int group_table_init(struct group_table *table, struct view *view, const struct filter *filter,
		     bool peaks, struct err_text *err);
/* Does the same for the blocks that match the filter, without peaks. */
int group_table_init_matched(struct group_table *table, struct view *view,
			     const struct filter *filter, struct err_text *err);
void group_table_done(struct group_table *table);
/* Returns NULL if no block has this backtrace. */
const struct group_stats *group_table_get(const struct group_table *table, uint32_t node);
