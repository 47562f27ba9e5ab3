#pragma once
/*
 * Rows of allocations in memory: blocks of ROWS_PER_BLOCK columns, 59 bytes a row, 67 where a block
 * holds sampled rows. Blocks stay where they are for as long as the recording is open; rows are
 * only appended, and their ends filled in.
 */
#include "collector/store/store.h"

struct rows {
	struct rows_block **blocks;
	uint32_t block_count, block_capacity;
	uint64_t count;
};

/* The writable columns behind a struct row_block. */
struct rows_block {
	struct row_block view;
	uint64_t *address, *size, *birth_ns, *death_ns, *weight;
	uint32_t *stack, *death_stack, *thread, *death_thread, *chain_previous, *chain_next;
	uint8_t *kind, *death_kind, *end;
	void *memory;
};

struct row_birth {
	uint64_t address, size, birth_ns, weight;
	uint32_t stack, thread, chain_previous;
	uint8_t kind;
};

struct row_death {
	uint64_t time_ns;
	uint32_t stack, thread;
	uint8_t kind, end;
};

void rows_done(struct rows *rows);
/* Appends; 0, -ENOMEM, or -E2BIG: more rows than numbers. */
int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row);
void rows_end(struct rows *rows, uint32_t row, const struct row_death *death);

static inline struct rows_block *rows_at(const struct rows *rows, uint32_t row, uint32_t *ret_index)
{
	*ret_index = row % ROWS_PER_BLOCK;
	return rows->blocks[row / ROWS_PER_BLOCK];
}
