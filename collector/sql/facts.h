#pragma once
/*
 * What columns are looked up in, made when the first of them is asked for and kept by the session:
 * bounded by what a recording has of stacks, marks and mappings, and a bit a row.
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

/* The call site of a backtrace: its innermost frame that is not an allocator's own. False: it has
 * no frames. */
bool facts_site(struct sql *sql, uint32_t stack, struct view_frame *ret_frame);
/* Frames, inlined ones not counted. */
uint32_t facts_depth(struct sql *sql, uint32_t stack);

/* What the REST API calls groups, and the sums that `top --by backtrace` shows; all backtraces that
 * allocations or frees have, 0 (none) among them. */
struct stack_sums {
	struct usage allocated, leaked, temporary;
	struct group_side rows; /* culled blocks among them, as group filters count */
	uint64_t peak_ns;
};
/* 0; or what working it out failed with. The list is in the order of the numbers. */
int facts_stacks(struct sql *sql, const uint32_t **ret_list, uint32_t *ret_count,
		 struct err_text *err);
/* False: none of them. */
bool facts_has_stack(struct sql *sql, uint32_t stack);
/* NULL: no allocation has it. 0; or what working it out failed with. */
int facts_sums(struct sql *sql, uint32_t stack, const struct stack_sums **ret_sums,
	       struct err_text *err);

/* The row's place in its chain of reallocs, and a row: columns ROWS_SIZE, ROWS_BIRTH, ROWS_DEATH,
 * ROWS_CHAIN. */
int facts_chain(struct sql *sql, uint64_t row, struct chain_place *ret_place, struct err_text *err);
const struct row_block *facts_row(struct sql *sql, uint64_t row, uint32_t *ret_index,
				  struct err_text *err);

uint64_t facts_marker(struct sql *sql, uint64_t time_ns);
/* NULL: none. */
const char *facts_label(struct sql *sql, uint32_t thread, uint64_t time_ns);
const struct glibc_heap *facts_heap(struct sql *sql);
/* 0; or what reading them failed with. */
int facts_mappings(struct sql *sql, const struct mappings **ret_mappings, struct err_text *err);
/* The number of the mapping that a block lay in: 1; 0: none is known; or what reading mappings
 * failed with. */
int facts_map(struct sql *sql, uint64_t address, uint64_t birth_ns, uint64_t *ret_map,
	      struct err_text *err);

/* Judgements of single rows that depend on others. */
enum facts_bit { FACTS_CHAIN_LEAKED, FACTS_FREED_AT_ONCE, FACTS_BITS };
/* 1, 0, or a negative errno with a sentence. */
int facts_bit(struct sql *sql, enum facts_bit which, uint64_t row, struct err_text *err);
