#pragma once
/* Finds the blocks in use at a moment by address, and the amount in use at many moments. */
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

#define LIVE_BLOCKS_MAX (1u << 24) /* they take 256 MiB */

struct live_block {
	uint64_t address, size;
};

/* Lists the matched blocks in use at `at_ns` (NO_TIME: at the end), sorted by address. The caller
 * frees the list. Returns -E2BIG if there are more than LIVE_BLOCKS_MAX. */
int query_live(struct view *view, const struct filter *filter, uint64_t at_ns,
	       struct live_block **ret_list, size_t *ret_count, struct err_text *err);
/* Writes the bytes in use at each of `count` ascending times to ret_bytes (estimated if
 * sampled). */
int query_in_use_at(struct view *view, const struct filter *filter, const uint64_t *times,
		    size_t count, uint64_t *ret_bytes, struct err_text *err);
