#pragma once
/*
 * A filter prepared for a recording. Conditions on a stack or its group are evaluated once per
 * node, and conditions on a chain, a label or an origin once per row, so that matching a row costs
 * a few comparisons. Zone maps allow whole blocks to be skipped. A block is matched column by
 * column: each column passes fewer rows to the next, without branches that the processor would have
 * to predict.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/query/query.h"

struct matcher {
	const struct filter *filter;
	const struct recording *recording;
	uint64_t rows;	 /* number of rows when the matcher was made; later rows are ignored */
	uint64_t end_ns; /* end of the recording */
	uint32_t nodes;
	uint8_t *node_passes;	   /* by node; NULL: all pass */
	uint32_t *node_suppressed; /* by node: number of the pattern that fits; NULL: no node has
				      one */
	uint8_t *chain_leaks;	   /* one bit per row; NULL: not asked */
	/* One bit per row, for conditions on other rows or on marks; NULL: all pass. */
	uint8_t *row_passes;
	uint8_t *thread_passes; /* by number; NULL: all pass */
	uint32_t threads;
	bool everything;      /* the filter has no condition */
	uint32_t one_in;      /* the same as in the filter */
	bool leaked_only;     /* only blocks that were not freed (matcher_only_leaked) */
	bool moved;	      /* only blocks that a realloc made from another block */
	bool hides_survivors; /* skip survivors: the question is what was allocated, not what is
				 alive */
	unsigned columns;     /* columns that the matcher reads: enum row_columns */
};

static_assert(ROWS_PER_BLOCK <= 65536, "a row's number in its block fits 16 bits");

/* Rows of a block in order, by their index in the block. */
struct row_set {
	const uint16_t *list; /* NULL: all rows from `first` on */
	uint32_t first, count;
};

static inline uint32_t row_at(const struct row_set *rows, uint32_t k)
{
	return rows->list ? rows->list[k] : rows->first + k;
}

int matcher_init(struct matcher *matcher, struct view *view, const struct filter *filter,
		 struct err_text *err);
void matcher_done(struct matcher *matcher);

/* Makes a matcher that lets all rows pass. `filter` provides cancellation and progress only, and
 * must live as long as the matcher. */
void matcher_init_all(struct matcher *matcher, const struct recording *recording,
		      const struct filter *filter);

/* From now on only blocks that were not freed match, whatever else the filter asks. */
void matcher_only_leaked(struct matcher *matcher);

static inline unsigned matcher_columns(const struct matcher *matcher)
{
	return matcher->columns;
}

/* Returns the number of rows of the block to examine, judged by its zone. 0: no row can match. */
uint32_t matcher_block_rows(const struct matcher *matcher, const struct row_block *zone);
/* Selects the rows from `first` to before `end` that match. `room` holds ROWS_PER_BLOCK numbers and
 * is used as long as the set. The block has the columns matcher_columns. */
struct row_set matcher_select(const struct matcher *matcher, const struct row_block *block,
			      uint32_t first, uint32_t end, uint16_t *room);

/* Returns true if a preview examines any row of the recording from `first` to before `end`. Always
 * returns true without a preview. */
bool matcher_takes(const struct matcher *matcher, uint64_t first, uint64_t end);

/* A block with weights, for rows that stand for others. */
struct weighed_rows {
	struct row_block block;
	uint64_t weight[ROWS_PER_BLOCK];
};
/* For a preview: returns the block with the weights of those rows, stored in *room. The first call
 * allocates *room, and the caller frees it. Returns NULL without memory. */
const struct row_block *matcher_weigh(const struct matcher *matcher, const struct row_block *block,
				      const struct row_set *rows, struct weighed_rows **room);

/* Returns true if a row matches, without a check of the block's zone. For callers that examine few
 * rows. */
bool matcher_row(const struct matcher *matcher, const struct row_block *block, uint32_t i);

/* Returns 0, or -ECANCELED or -ETIME with an error text if the filter's owner has withdrawn the
 * question or its deadline has passed. Called once per block. */
int matcher_cancelled(const struct matcher *matcher, struct err_text *err);
/* For the filter's progress: announces blocks to examine, and reports blocks examined. `asking`:
 * the call is made on the thread that asked. */
void matcher_will_do(const struct matcher *matcher, uint64_t blocks);
void matcher_did(const struct matcher *matcher, uint64_t blocks, bool asking);

/* For the files that judge rows by other rows (chains.c, labels.c): they clear the bits in
 * row_passes of rows that do not pass. */
void matcher_refuse(struct matcher *matcher, uint64_t row);
int chains_judge(struct matcher *matcher, struct err_text *err);
int freed_at_once_judge(struct matcher *matcher, struct err_text *err);
int labels_judge(struct matcher *matcher, struct err_text *err);
/* origin.c: conditions on the marker, the mapping, and the part of the allocator's heap. */
int origin_judge(struct matcher *matcher, struct view *view, struct err_text *err);

static inline bool row_bit(const uint8_t *bits, uint64_t row)
{
	return bits[row / 8] >> row % 8 & 1;
}

/* ---- the meaning of rows, in one place ---- */

static inline bool row_leaked(const struct row_block *block, uint32_t i)
{
	return block->end[i] == BLOCK_IN_USE;
}

/* Returns true if `value` counts blocks that are alive, which includes survivors. */
static inline bool value_is_alive(enum value value)
{
	return value != VALUE_ALLOCATED && value != VALUE_FREED;
}

/* Returns true if survivors count under `value`: as in use, and as freed. (They were allocated
 * before they became survivors.) */
static inline bool value_has_survivors(enum value value)
{
	return value != VALUE_ALLOCATED;
}

/* For callers that count what was allocated and what is alive in one pass. From now on the matcher
 * lets survivors pass. Returns true if the caller must count them apart, as alive only. */
static inline bool matcher_sees_survivors(struct matcher *matcher)
{
	bool apart = matcher->hides_survivors;

	matcher->hides_survivors = false;
	return apart;
}

static inline bool row_freed(const struct row_block *block, uint32_t i)
{
	return block->end[i] == BLOCK_FREED || block->end[i] == BLOCK_REALLOCATED ||
	       block->end[i] == BLOCK_INFERRED;
}

static inline bool row_alive(const struct row_block *block, uint32_t i, uint64_t at_ns)
{
	return block->birth_ns[i] <= at_ns && block->death_ns[i] > at_ns;
}

static inline uint64_t row_weight(const struct row_block *block, uint32_t i)
{
	return block->weight ? block->weight[i] : 0;
}

/* Returns true if a block can have a row that `value` counts at `at_ns`, judged by its zone. */
bool value_possible(enum value value, uint64_t at_ns, const struct row_block *zone);
/* Returns the columns that value_select reads. */
unsigned value_columns(enum value value);
/* Selects those of the matched rows that `value` counts; `at_ns` is for in use and peak. `room` as
 * for matcher_select; it may be the same array. */
struct row_set value_select(enum value value, uint64_t at_ns, const struct row_block *block,
			    const struct row_set *rows, uint16_t *room);
