#pragma once
/*
 * Lookup tables for columns. Each table is made when a column first needs it, and kept by the
 * session. Their size is bounded by the recording's stacks, marks and mappings, and by one bit per
 * row.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/chain_walk.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/match/mappings.h"
#include "collector/query/query.h"

struct err_text;
struct facts;
struct sql;

void facts_free(struct facts *facts);

/* Returns the call site of a backtrace: its innermost frame that is not an allocator's own. Returns
 * false if the backtrace has no frames. */
bool facts_site(struct sql *sql, uint32_t stack, struct view_frame *ret_frame);
/* Returns the number of frames, without inlined ones. */
uint32_t facts_depth(struct sql *sql, uint32_t stack);

/* The sums of a backtrace. The REST API calls this a group, and `top --by backtrace` shows the same
 * sums. The tables cover the backtraces of all allocations and frees, and 0 (none). */
struct stack_sums {
	struct usage allocated, leaked, freed;
	struct group_side rows; /* includes culled blocks, as group filters do */
	uint64_t peak_ns;
};
/* Lists these backtraces in ascending order. Returns 0, or the error of computing them. */
int facts_stacks(struct sql *sql, const uint32_t **ret_list, uint32_t *ret_count,
		 struct err_text *err);
/* Tells whether the backtrace is in this list, after facts_stacks. */
bool facts_has_stack(struct sql *sql, uint32_t stack);
/* Sets *ret_sums to the sums of a backtrace, or to NULL if no allocation has it. Returns 0, or the
 * error of computing them. */
int facts_sums(struct sql *sql, uint32_t stack, const struct stack_sums **ret_sums,
	       struct err_text *err);

/* Finds the row's place in its chain of reallocs. facts_row returns a row with the columns
 * ROWS_SIZE, ROWS_BIRTH, ROWS_DEATH and ROWS_CHAIN. */
int facts_chain(struct sql *sql, uint64_t row, struct chain_place *ret_place, struct err_text *err);
const struct row_block *facts_row(struct sql *sql, uint64_t row, uint32_t *ret_index,
				  struct err_text *err);

uint64_t facts_marker(struct sql *sql, uint64_t time_ns);
/* Returns the thread's label at a moment, or NULL if it has none. */
const char *facts_label(struct sql *sql, uint32_t thread, uint64_t time_ns);
const struct glibc_heap *facts_heap(struct sql *sql);
/* Reads the mappings. Returns 0, or the error of reading them. */
int facts_mappings(struct sql *sql, const struct mappings **ret_mappings, struct err_text *err);
/* Finds the number of the mapping that contained a block. Returns 1, 0 if no mapping is known, or
 * the error of reading the mappings. */
int facts_map(struct sql *sql, uint64_t address, uint64_t birth_ns, uint64_t *ret_map,
	      struct err_text *err);

/* Properties of a row that depend on other rows. */
enum facts_bit { FACTS_CHAIN_LEAKED, FACTS_FREED_AT_ONCE, FACTS_BITS };
/* Returns 1, 0, or a negative errno with an error text. */
int facts_bit(struct sql *sql, enum facts_bit which, uint64_t row, struct err_text *err);
