#pragma once
/*
 * The hidden table `allocation_sums`: the rows of `allocations`, summed up by the values of some of
 * their columns. regroup.c lets statements read it that only count and sum. A scan of 20 million
 * rows then gives SQLite some thousand rows to add up.
 *
 * It has the columns of `allocations`, and behind them the sums below. Rows are summed up by those
 * columns that the statement reads; each must depend on nothing but ALLOCATION_SUMS_KEYS. The table
 * may have several rows for one group: the sums of 65,536 groups are handed on at a time. So the
 * statement has to group them once more.
 */
#include <sqlite3.h>

#include "collector/columns/row_block.h"
#include "collector/sql/allocations.h"

#define ALLOCATION_SUMS_KEYS (ROWS_STACK | ROWS_THREAD | ROWS_SIZE | ROWS_KIND | ROWS_END)

#define ALLOCATION_SUMS(X)                                                                         \
	X(ROWS, "sum_rows", "INTEGER", 0)                                                          \
	X(SIZE, "sum_size", "INTEGER", ROWS_SIZE)                                                  \
	X(BYTES, "sum_bytes", "INTEGER", ROWS_SIZE | ROWS_WEIGHT)                                  \
	X(SIZE_MIN, "min_size", "INTEGER", ROWS_SIZE)                                              \
	X(SIZE_MAX, "max_size", "INTEGER", ROWS_SIZE)                                              \
	X(BIRTH_MIN, "min_birth_ns", "INTEGER", ROWS_BIRTH)                                        \
	X(BIRTH_MAX, "max_birth_ns", "INTEGER", ROWS_BIRTH)

int allocation_sums_add(struct sql *sql);
