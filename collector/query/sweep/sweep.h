#pragma once
/*
 * One pass over the rows that a filter selects. Blocks whose zones exclude a match are skipped. The
 * others are unpacked, with only the columns that filter and query read, and the query gets the
 * numbers of the matching rows.
 *
 * The blocks are divided into parts of neighbours; the division does not depend on the threads.
 * Threads (parallel.h) work on parts, each with a reader and sums of its own. The sums are merged
 * in the order of the rows.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

struct sweep {
	const struct matcher *matcher;
	unsigned columns; /* columns that the query reads: enum row_columns */
	void *context;
	/* Returns true if no row of a block can matter, judged by its zone. May be NULL. */
	bool (*skips)(const void *context, const struct row_block *zone);
	/* Makes the state of a part, which one thread uses at a time. Returns 0 or -ENOMEM. NULL:
	 * part_rows gets `context` itself, is called by several threads at once for different rows,
	 * and nothing is merged. */
	/* Must not read members of `context` that part_merge writes. */
	int (*part_new)(void *context, void **ret_part);
	int (*part_rows)(void *part, const struct row_block *block, const struct row_set *rows);
	void (*part_end)(void *part); /* called after the part's last rows. May be NULL */
	int (*part_merge)(void *context, void *part);
	void (*part_free)(void *part);
};

/* Returns 0, -ECANCELED, -ETIME, -ENOMEM, an error of reading, or the error that a callback
 * returned. */
int sweep_run(const struct sweep *sweep, struct err_text *err);

/* Visits rows in order on this thread, or blocks from the last to the first. If `rows` returns a
 * value other than 0, the sweep stops and returns it. */
typedef int sweep_rows(void *context, const struct row_block *block, const struct row_set *rows);
int sweep_in_order(const struct matcher *matcher, unsigned columns, sweep_rows *rows, void *context,
		   struct err_text *err);
int sweep_backwards(const struct matcher *matcher, unsigned columns, sweep_rows *rows,
		    void *context, struct err_text *err);

/* For tests: number of rows in a piece of work, a multiple of 8 that divides ROWS_PER_BLOCK; 0:
 * whole blocks. */
void sweep_set_piece(uint32_t rows);
