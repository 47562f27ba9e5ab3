#pragma once
/* Declarations that the files behind block.h share: block.c keeps blocks in memory, block_pack.c
 * writes them, and block_unpack.c reads them. */
#include "collector/columns/block.h"
#include "collector/columns/pack.h"

struct block_column_rule {
	unsigned bit, needs; /* enum row_columns */
	enum pack_hint hint;
	const char *name;
};

extern const struct block_column_rule block_columns_table[BLOCK_COLUMNS];
/* The first bytes of a packed block. */
extern const uint8_t block_magic[4];

/* Returns true if the thread that ended the block is likely the thread that allocated it. */
static inline bool block_ended_by_free(uint8_t end)
{
	return end == BLOCK_FREED || end == BLOCK_REALLOCATED;
}

/* Makes the view show `columns` (enum row_columns), and no other. */
void block_show(struct rows_block *block, unsigned columns);
/*
 * Returns `length` bytes of the block at `offset`: a copy in `spare`, unless the block is in
 * memory. Returns 0, -EBADMSG if the file ends before, -ENOMEM, or another negative errno.
 */
int block_fetch(const struct block_source *source, uint64_t offset, uint32_t length,
		struct buf *spare, const uint8_t **ret_data);
/* Reads and checks the header of a block. `block` already has its first row and count. Returns the
 * same errors as block_fetch. */
int block_read_header(const struct block_source *source, const struct rows_block *block,
		      struct buf *spare, struct block_header *ret_header);
