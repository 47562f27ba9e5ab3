#pragma once
/*
 * A filter made ready for a recording: what depends on the stack is decided once for every node,
 * what depends on a group or a chain once for every row, so that a row costs some comparisons. Zone
 * maps let whole blocks be passed over. A block is judged a column at a time, each leaving fewer
 * rows to the next, without a branch that a processor would have to guess.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/query/query.h"

struct matcher {
	const struct filter *filter;
	const struct recording *recording;
	uint64_t rows;	 /* of the recording when it was made; later ones are not looked at */
	uint64_t end_ns; /* of the recording */
	uint32_t nodes;
	uint8_t *node_passes; /* by node; NULL: all pass */
	uint8_t *chain_leaks; /* a bit a row; NULL: not asked */
	uint8_t *row_passes;  /* a bit a row: what depends on other rows or on marks; NULL: all pass
			       */
	uint8_t *thread_passes; /* by number; NULL: all pass */
	uint32_t threads;
	bool everything;      /* no filter at all */
	uint32_t one_in;      /* as the filter has it */
	bool moved;	      /* only what realloc made of other blocks */
	bool hides_survivors; /* the question is what was allocated, not what is alive */
	unsigned columns;     /* that it looks at: enum row_columns */
};

static_assert(ROWS_PER_BLOCK <= 65536, "a row's number in its block fits 16 bits");

/* Rows of a block, by their numbers in it, in order. */
struct row_set {
	const uint16_t *list; /* NULL: all from `first` on */
	uint32_t first, count;
};

static inline uint32_t row_at(const struct row_set *rows, uint32_t k)
{
	return rows->list ? rows->list[k] : rows->first + k;
}

int matcher_init(struct matcher *matcher, struct view *view, const struct filter *filter,
		 struct err_text *err);
void matcher_done(struct matcher *matcher);

/* One that lets all rows through, with the filter's means to cancel it and to show how far it is.
 * `filter` is used as long as it. */
void matcher_init_all(struct matcher *matcher, const struct recording *recording,
		      const struct filter *filter);

static inline unsigned matcher_columns(const struct matcher *matcher)
{
	return matcher->columns;
}

/* How many rows of the block to look at, by its zone; 0: none of it can match. */
uint32_t matcher_block(const struct matcher *matcher, const struct row_block *zone);
/* Those from `first` to before `end` that match. `room` holds ROWS_PER_BLOCK numbers and is used as
 * long as the set. The block has matcher_columns. */
struct row_set matcher_select(const struct matcher *matcher, const struct row_block *block,
			      uint32_t first, uint32_t end, uint16_t *room);

/* Is any row from `first` to before `end` of the recording looked at, if it is a preview? */
bool matcher_takes(const struct matcher *matcher, uint64_t first, uint64_t end);

/* A block whose rows stand for others, too. */
struct weighed_rows {
	struct row_block block;
	uint64_t weight[ROWS_PER_BLOCK];
};
/* For a preview: the block with weights of those rows, in *room, which is made at the first call
 * and is the caller's to free. NULL: no memory. */
const struct row_block *matcher_weigh(const struct matcher *matcher, const struct row_block *block,
				      const struct row_set *rows, struct weighed_rows **room);

/* Whether one row matches, whatever the block's zone says: for those who look at few. */
bool matcher_row(const struct matcher *matcher, const struct row_block *block, uint32_t i);

/* -ECANCELED if the filter's owner wants no answer any more; asked once a block. */
int matcher_cancelled(const struct matcher *matcher, struct err_text *err);
/* For the filter's progress: so many blocks more are going to be looked at; have been. `asking`: on
 * the thread that asked. */
void matcher_will_do(const struct matcher *matcher, uint64_t blocks);
void matcher_did(const struct matcher *matcher, uint64_t blocks, bool asking);

/* For the files that judge rows by others (chains.c, labels.c): take the bits of those that do not
 * pass out of row_passes. */
void matcher_refuse(struct matcher *matcher, uint64_t row);
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

/* Is it about blocks that are alive, survivors too? */
static inline bool value_is_alive(enum value value)
{
	return value != VALUE_ALLOCATED && value != VALUE_TEMPORARY;
}

/* For who counts what was allocated and what is alive in one pass: all rows are seen from here on,
 * and the answer is whether survivors are to be told apart, as what is alive alone. */
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

/* Whether a block can have a row that `value` counts at `at_ns`, by its zone. */
bool value_possible(enum value value, uint64_t at_ns, const struct row_block *zone);
/* Columns that tell whether a row is among the blocks that `value` counts. */
unsigned value_columns(enum value value);
/* Those of matched rows that are among the blocks that `value` counts; `at_ns` for in use and peak.
 * `room` as for matcher_select, and may be the same. */
struct row_set value_select(enum value value, uint64_t at_ns, const struct row_block *block,
			    const struct row_set *rows, uint16_t *room);

/* The moment that `value` is about: the peak's for VALUE_PEAK, `at_ns` otherwise (NO_TIME: the
 * end). */
int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter,
		 uint64_t *ret_ns, struct err_text *err);
/* When the total in use of all blocks was highest (the first such moment). Found once, and kept by
 * the view. */
int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns,
		struct err_text *err);
