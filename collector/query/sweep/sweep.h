#pragma once
/*
 * One pass over the rows that a filter lets through: blocks that can't have any are passed over by
 * their zones, the others are unpacked, only the columns that filter and question look at, and the
 * question is given the numbers of the rows that match.
 *
 * The blocks are cut into parts of neighbours, always the same ones; threads (parallel.h) work at
 * parts, each with a reader and sums of its own, which are merged in the order of the rows.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

struct sweep {
	const struct matcher *matcher;
	unsigned columns; /* that the question looks at: enum row_columns */
	void *context;
	/* Whether no row of a block can matter, by its zone. May be NULL. */
	bool (*skips)(const void *context, const struct row_block *zone);
	/* What a part sums up; one thread is at it at a time. 0 or -ENOMEM. NULL: `context` itself,
	 * with which part_rows is then called by several threads at once, for different rows;
	 * nothing is merged then. */
	int (*part_new)(void *context,
			void **ret_part); /* reads nothing of `context` that part_merge writes */
	int (*part_rows)(void *part, const struct row_block *block, const struct row_set *rows);
	void (*part_end)(void *part); /* there will be no more rows. May be NULL */
	int (*part_merge)(void *context, void *part);
	void (*part_free)(void *part);
};

/* 0; -ECANCELED; -ENOMEM; what reading failed with; or what a function of the question returned. */
int sweep_run(const struct sweep *sweep, struct err_text *err);

/* Rows in order on this thread, or blocks from the last to the first; `rows` returns not 0 to stop,
 * which is returned. */
typedef int sweep_rows(void *context, const struct row_block *block, const struct row_set *rows);
int sweep_in_order(const struct matcher *matcher, unsigned columns, sweep_rows *rows, void *context,
		   struct err_text *err);
int sweep_backwards(const struct matcher *matcher, unsigned columns, sweep_rows *rows,
		    void *context, struct err_text *err);

/* For tests: rows of a piece of work, a multiple of 8 that divides ROWS_PER_BLOCK; 0: whole
 * blocks. */
void sweep_set_piece(uint32_t rows);
