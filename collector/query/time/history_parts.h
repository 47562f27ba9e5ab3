#pragma once
/* Shared by the files that implement history.h: the events of a row, and the far events of some
 * bins. */
#include "collector/columns/row_block.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/tally.h"

#define HISTORY_NEAR 3u /* number of segments before a bin's own whose rows are read */

/* Returns the birth as a valid time: NO_TIME becomes NO_TIME - 1. */
static inline uint64_t birth_time(const struct row_block *block, uint32_t i)
{
	return block->birth_ns[i] < NO_TIME ? block->birth_ns[i] : NO_TIME - 1;
}

/* Returns the death, but not before the birth. NO_TIME: none. */
static inline uint64_t death_time(const struct row_block *block, uint32_t i)
{
	uint64_t birth = birth_time(block, i);

	return block->death_ns[i] > birth ? block->death_ns[i] : birth;
}

/* Values are integers, so that a death subtracts exactly what its birth added. */
static inline struct history_event birth_of(const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i);
	struct history_event e = {.bytes = (int64_t)size, .units = HISTORY_UNIT};

	if (tally_is_sampled(size, weight)) {
		double blocks = (double)weight / (size ? (double)size : 1);

		e.bytes = size ? (int64_t)weight : 0;
		e.units = blocks < 1e12 ? (int64_t)(blocks * HISTORY_UNIT + 0.5)
					: (int64_t)1e12 * HISTORY_UNIT;
	}
	e.time_ns = birth_time(block, i);
	return e;
}

/* Does the same and adds the row's node or label. */
static inline struct history_event named_birth_of(const struct history_of *of,
						  const struct row_block *block, uint32_t i)
{
	struct history_event e = birth_of(block, i);

	if (of->label)
		e.node = of->label(of->label_context, block, i);
	else if (of->nodes)
		e.node = block->stack[i];
	return e;
}

static inline struct history_event death_of(const struct history_event *birth, uint64_t time_ns)
{
	return (struct history_event){time_ns, (int64_t)(0 - (uint64_t)birth->bytes), -birth->units,
				      birth->node};
}

static inline unsigned history_columns(const struct history_of *of)
{
	return ROWS_SIZE | ROWS_WEIGHT | ROWS_BIRTH | ROWS_DEATH | (of->nodes ? ROWS_STACK : 0) |
	       of->label_columns;
}

/* All far events in no order, if there is room for them (history_far_room); else `known` is
 * false. */
struct far_all {
	struct history_event *list;
	size_t count;
	bool known;
};

struct far_events {
	uint32_t first, end; /* bins */
	/* By bin, starting at `first`: the position of the bin's next event; after gathering: the
	 * end of its events. */
	uint64_t *at;
	struct history_event *list;
};

/* Makes the bins, and counts the far events of each. The caller frees the counts and the list.
 * Returns 0 or a negative errno. */
int history_bins_make(const struct history_of *of, struct history_bins *bins, uint32_t **ret_counts,
		      struct far_all *ret_all, struct err_text *err);
/* Gathers the far events of the bins from far->first to before far->end into far->list: from `all`,
 * or in another pass over the rows. */
int history_gather_far(const struct history_of *of, const struct history_bins *bins,
		       const uint32_t *counts, const struct far_all *all, struct far_events *far,
		       struct err_text *err);
/* Returns the maximum number of far events held at a time. */
uint64_t history_far_room(void);
