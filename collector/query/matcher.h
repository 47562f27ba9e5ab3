#pragma once
/*
 * A filter made ready for a recording: what depends on the stack is decided once for every node, what depends on a group or a
 * chain once for every row, so that a row costs some comparisons. Zone maps let whole blocks be passed over.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/store/store.h"

struct matcher {
	const struct filter *filter;
	const struct recording *recording;
	uint64_t rows;	 /* of the recording when it was made; later ones are not looked at */
	uint64_t end_ns; /* of the recording */
	uint32_t nodes;
	uint8_t *node_passes; /* by node; NULL: all pass */
	uint8_t *chain_leaks; /* a bit a row; NULL: not asked */
	uint8_t *row_passes;  /* a bit a row: what depends on other rows or on marks; NULL: all pass */
	uint8_t *thread_passes; /* by number; NULL: all pass */
	uint32_t threads;
	bool everything;      /* no filter at all */
};

int matcher_init(struct matcher *matcher, struct view *view, const struct filter *filter, struct err_text *err);
void matcher_done(struct matcher *matcher);

/* How many rows of the block to look at; 0: none of it can match. */
uint32_t matcher_block(const struct matcher *matcher, const struct row_block *block);
bool matcher_row_filtered(const struct matcher *matcher, const struct row_block *block, uint32_t i);

static inline bool matcher_row(const struct matcher *matcher, const struct row_block *block, uint32_t i)
{
	return matcher->everything || matcher_row_filtered(matcher, block, i);
}

/* -ECANCELED if the filter's owner wants no answer any more; asked once a block. */
int matcher_cancelled(const struct matcher *matcher, struct err_text *err);

/* For the files that judge rows by others (chains.c, labels.c): take the bits of those that do not pass out of row_passes. */
int chains_judge(struct matcher *matcher, struct err_text *err);
int freed_at_once_judge(struct matcher *matcher, struct err_text *err);
int labels_judge(struct matcher *matcher, struct err_text *err);
/* origin.c: by marker, by mapping, and by where the allocator had the block from. */
bool origin_asked(const struct filter *filter);
int origin_judge(struct matcher *matcher, struct view *view, struct err_text *err);

static inline bool row_bit(const uint8_t *bits, uint64_t row)
{
	return bits[row / 8] >> row % 8 & 1;
}

/* ---- what rows mean, in one place ---- */

static inline bool row_leaked(const struct row_block *block, uint32_t i)
{
	return block->end[i] == BLOCK_IN_USE;
}

static inline bool row_freed(const struct row_block *block, uint32_t i)
{
	return block->end[i] == BLOCK_FREED || block->end[i] == BLOCK_REALLOCATED || block->end[i] == BLOCK_INFERRED;
}

static inline bool row_alive(const struct row_block *block, uint32_t i, uint64_t at_ns)
{
	return block->birth_ns[i] <= at_ns && block->death_ns[i] > at_ns;
}

static inline uint64_t row_weight(const struct row_block *block, uint32_t i)
{
	return block->weight ? block->weight[i] : 0;
}

/* Whether a matched row is among the blocks that `value` counts; `at_ns` for in use and peak. */
static inline bool row_counts(const struct row_block *block, uint32_t i, enum value value, uint64_t at_ns)
{
	switch (value) {
	case VALUE_LEAKED:
		return row_leaked(block, i);
	case VALUE_TEMPORARY:
		return row_freed(block, i);
	case VALUE_IN_USE:
	case VALUE_PEAK:
		return row_alive(block, i, at_ns);
	case VALUE_ALLOCATED:
		break;
	}
	return true;
}

/* The moment that `value` is about: the peak's for VALUE_PEAK, `at_ns` otherwise (NO_TIME: the end). */
int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter, uint64_t *ret_ns,
		 struct err_text *err);
/* When the total in use of all blocks was highest (the first such moment). */
int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns, struct err_text *err);
/* The same, computed anew with room for so many births and deaths at a time. */
int peak_find(struct view *view, const struct filter *filter, size_t events_max, uint64_t *ret_ns, struct err_text *err);
