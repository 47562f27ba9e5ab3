#pragma once
/*
 * Rewrites a statement that counts and sums rows of `allocations` into one that adds up the sums of
 * `allocation_sums`. Its answer is the same, with the same names. For instance
 *
 *	select stack, count(*), max(size) from allocations group by stack
 *
 * becomes
 *
 *	select stack, coalesce(sum(sum_rows),0) as "count(*)", max(max_size) as "max(size)"
 *	from allocation_sums group by stack
 *
 * Only statements of a simple form are rewritten: one SELECT from `allocations` alone; count(*);
 * sum, total, avg, min and max of a column; and besides these only columns that are the same in all
 * rows of a group. Everything else stays as it is.
 */
#include <stddef.h>

/* Returns the new statement, which the caller frees with sqlite3_free, or NULL: the statement is of
 * another form, or there is no memory. `text` is one statement that SQLite compiles. */
char *regroup(const char *text, size_t length);
