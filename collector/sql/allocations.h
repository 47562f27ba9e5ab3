#pragma once
/*
 * The table `allocations`. A cursor walks over the rows, one block at a time. The table has three
 * files: the module (allocations.c), the conditions that are pushed down (allocations_plan.c), and
 * the columns (allocations_columns.c).
 *
 * xBestIndex passes a plan to xFilter. A plan is a number and a text. The number says which columns
 * of blocks the statement reads (enum row_columns). The text has two characters per argument: 'A' +
 * column, and the operation on the argument:
 *
 *	= < [ (at most) > ] (at least) n (is null) i (one of a list)
 *
 * Conditions only narrow what is read, and SQLite evaluates all of them again. So a plan may let
 * more rows pass, but never fewer.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/query/query.h"
#include "collector/sql/state.h"

#define ALLOCATIONS(X)                                                                             \
	X(ID, "id", "INTEGER", 0, "number of the row; in the order of birth, from 0")              \
	X(ADDRESS, "address", "INTEGER", ROWS_ADDRESS, "of the block")                             \
	X(SIZE, "size", "INTEGER", ROWS_SIZE, "bytes asked for")                                   \
	X(BYTES, "bytes", "INTEGER", ROWS_SIZE | ROWS_WEIGHT,                                      \
	  "bytes it stands for: size, or where it was sampled an estimate")                        \
	X(BLOCKS, "blocks", "REAL", ROWS_SIZE | ROWS_WEIGHT,                                       \
	  "blocks it stands for: 1, or where it was sampled an estimate")                          \
	X(BIRTH, "birth_ns", "INTEGER", ROWS_BIRTH,                                                \
	  "when it was allocated, nanoseconds since the start")                                    \
	X(DEATH, "death_ns", "INTEGER", ROWS_DEATH,                                                \
	  "when it ended; nothing: it is in use at the end")                                       \
	X(LIFETIME, "lifetime_ns", "INTEGER", ROWS_BIRTH | ROWS_DEATH,                             \
	  "how long it lived; in use: until the end of the recording")                             \
	X(THREAD, "thread", "INTEGER", ROWS_THREAD, "number of the thread that allocated it")      \
	X(TID, "tid", "INTEGER", ROWS_THREAD, "the kernel's number of it")                         \
	X(THREAD_NAME, "thread_name", "TEXT", ROWS_THREAD, "its name")                             \
	X(DEATH_THREAD, "death_thread", "INTEGER", ROWS_DEATH_THREAD,                              \
	  "number of the thread that freed it")                                                    \
	X(STACK, "stack", "INTEGER", ROWS_STACK,                                                   \
	  "number of its backtrace (stacks, frames); 0: none")                                     \
	X(DEATH_STACK, "death_stack", "INTEGER", ROWS_DEATH_STACK,                                 \
	  "number of the backtrace that freed it")                                                 \
	X(DEPTH, "depth", "INTEGER", ROWS_STACK,                                                   \
	  "frames of its backtrace, inlined ones not counted")                                     \
	X(FUNCTION, "function", "TEXT", ROWS_STACK,                                                \
	  "call site: the innermost function that is not an allocator's own")                      \
	X(FILE_, "file", "TEXT", ROWS_STACK, "source file of the call site")                       \
	X(LINE, "line", "INTEGER", ROWS_STACK, "line in it")                                       \
	X(MODULE, "module", "TEXT", ROWS_STACK, "path of the program or library of the call site") \
	X(KIND, "kind", "TEXT", ROWS_KIND,                                                         \
	  "function that allocated it: malloc, calloc, realloc...")                                \
	X(DEATH_KIND, "death_kind", "TEXT", ROWS_DEATH_KIND, "function that ended it")             \
	X(END, "end", "TEXT", ROWS_END,                                                            \
	  "in_use, freed, reallocated, inferred, censored (nobody saw it), exec")                  \
	X(LEAKED, "leaked", "INTEGER", ROWS_END, "1: not freed when the recording ended")          \
	X(FREED, "freed", "INTEGER", ROWS_END, "1: freed, reallocated or inferred")                \
	X(PREVIOUS, "previous", "INTEGER", ROWS_CHAIN,                                             \
	  "id of the block that realloc turned into this one")                                     \
	X(NEXT, "next", "INTEGER", ROWS_CHAIN, "id of the block that realloc made of this one")    \
	X(CHAIN, "chain", "INTEGER", 0, "id of the first block of its chain of reallocs")          \
	X(POSITION, "chain_position", "INTEGER", 0, "how many reallocs came before it")            \
	X(LENGTH, "chain_length", "INTEGER", 0, "how many blocks its chain has")                   \
	X(FIRST_SIZE, "first_size", "INTEGER", 0, "size of the first block of its chain")          \
	X(LAST_SIZE, "last_size", "INTEGER", 0, "and of the last")                                 \
	X(CHAIN_LIFETIME, "chain_lifetime_ns", "INTEGER", 0, "how long its chain lived")           \
	X(CHAIN_LEAKED, "chain_leaked", "INTEGER", 0,                                              \
	  "1: the last block of its chain was not freed")                                          \
	X(AT_ONCE, "freed_at_once", "INTEGER", 0,                                                  \
	  "1: temporary: freed before its thread allocated again")                                 \
	X(MMAPED, "mmaped", "INTEGER", ROWS_ADDRESS | ROWS_SIZE,                                   \
	  "1: glibc gave it a mapping of its own; nothing: not known")                             \
	X(MAIN_ARENA, "main_arena", "INTEGER", ROWS_ADDRESS | ROWS_SIZE,                           \
	  "1: from glibc's main arena; nothing: not known")                                        \
	X(JEMALLOC, "jemalloc", "INTEGER", 0, "1: from libjemalloc")                               \
	X(MARKER, "marker", "INTEGER", ROWS_BIRTH,                                                 \
	  "number that the program said last before (heapcast_mark)")                              \
	X(LABEL, "label", "TEXT", ROWS_BIRTH | ROWS_THREAD,                                        \
	  "text that its thread bore (heapcast_label)")                                            \
	X(MAP, "map", "INTEGER", ROWS_ADDRESS | ROWS_BIRTH,                                        \
	  "number of the mapping that it lay in (maps)")                                           \
	X(SURVIVOR, "survivor", "INTEGER", ROWS_KIND,                                              \
	  "1: what is left of blocks that were thinned, from then on; nobody allocated it")        \
	X(ALIVE_AT, "alive_at_ns", "INTEGER HIDDEN", ROWS_BIRTH | ROWS_DEATH,                      \
	  "parameter: only those alive at this moment: allocations(NS), or alive_at_ns = NS")

#define ENUM(id, name, type, rows, about) ALLOCATIONS_##id,
enum { ALLOCATIONS(ENUM) ALLOCATIONS_COLUMNS };
#undef ENUM

struct allocations_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	struct filter filter;
	unsigned columns; /* enum row_columns */
	bool done;
	/* For a scan: */
	struct row_walk *walk; /* NULL: a single row */
	struct walked_rows rows;
	uint32_t k;
	uint8_t *stacks; /* by node: 1 if it is in the list; NULL: all stacks match */
	uint32_t nodes;
	/* For a single row: */
	struct row_cache *single; /* kept from one look-up to the next */
	unsigned single_columns;
	/* The current row: */
	const struct row_block *block;
	uint32_t i;
	/* The call site that was looked up last, and its stack. */
	uint32_t site_of; /* 0: none */
	struct view_frame site;
};

/* ---- allocations.c, for allocation_sums.c ---- */

struct allocations_plan;

/* Makes an empty cursor of zeros one of `sql`. Returns SQLITE_OK, or an error if there are too
 * many. */
int allocations_open(struct sql *sql, struct allocations_cursor *cursor);
void allocations_close(struct allocations_cursor *cursor);
/* Begins to walk over the rows of the plan. Returns 0 or a negative errno. */
int allocations_walk(struct allocations_cursor *cursor, const struct allocations_plan *plan,
		     struct err_text *err);
/* Ends the cursor and the statement. Returns SQLITE_ERROR. */
int allocations_fail(struct allocations_cursor *cursor, int error, const struct err_text *err);

/* Tells whether the stack of a walked row is in the cursor's list. */
static inline bool allocations_listed(const struct allocations_cursor *c, uint32_t i)
{
	uint32_t stack;

	if (!c->stacks)
		return true;
	stack = c->rows.block->stack[i];
	return c->stacks[stack <= c->nodes ? stack : 0];
}

/* Tells whether a row stands for other blocks, too (collector/query/sweep/tally.h). */
static inline bool allocations_is_estimate(uint64_t size, uint64_t weight)
{
	return weight > size && weight > 1;
}

/* ---- allocations_plan.c ---- */

/* The range of rows that a statement asks for. */
struct allocations_plan {
	uint64_t first_row, end_row;
	bool by_id; /* a single row */
};

int allocations_best_index(struct sql *sql, sqlite3_index_info *info);
/* Reads the arguments into the cursor's filter and its list of stacks. Returns 0 or -ENOMEM. */
int allocations_read_plan(struct allocations_cursor *cursor, const char *text, int argc,
			  sqlite3_value **argv, struct allocations_plan *ret_plan);

/* ---- allocations_columns.c ---- */

/* Returns the columns of blocks (enum row_columns) that a column of the table is made from. */
unsigned allocations_needs(int column);
/* Sets the value of a column. Returns 0, or a negative errno with an error text. */
int allocations_put(struct allocations_cursor *cursor, sqlite3_context *out, int column,
		    struct err_text *err);
