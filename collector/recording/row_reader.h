#pragma once
/* Reads the rows of a recording, one block at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/columns/row_block.h"

struct err_text;
struct recording;

struct row_reader;

/*
 * How coarse the estimates of a program are that was thinned: of what may be there though nobody
 * has seen any of it. `alive` is that of blocks which were on record and of which only a part was
 * followed; docs/sampling.md says how it is found.
 */
struct thinned_info {
	uint64_t from_ns;  /* before, it was not; 0: it never was */
	uint64_t interval; /* the largest at which a thread was sampled for lack of room */
	uint64_t alive_bytes, alive_blocks;
};

struct thinned_info recording_thinned(const struct recording *recording);
/* Are there survivors among its rows? */
bool recording_survivors(const struct recording *recording);
/* What of a block is known without reading its rows: count, first_row, min, max; its columns may be
 * NULL. NULL: no such block. */
const struct row_block *recording_zone(const struct recording *recording, uint32_t index);
/* 0 or -ENOMEM. The recording must not be refreshed or closed before the reader is freed. */
int row_reader_new(const struct recording *recording, struct row_reader **ret_reader);
void row_reader_free(struct row_reader *reader);
/* A block with at least those columns, valid until the next call; columns that were not asked for
 * may be NULL. Asked for the same block again, it costs nothing; whoever needs more columns of it
 * than before gets all of them anew. NULL with a sentence: no memory, or neither its file nor the
 * frames can be read; without one: no such block. */
const struct row_block *row_reader_block(struct row_reader *reader, uint32_t index,
					 unsigned columns, struct err_text *err);
/* The same, but only the rows from `first` to before `end` need to be there; the others may hold
 * anything. */
const struct row_block *row_reader_rows(struct row_reader *reader, uint32_t index, unsigned columns,
					uint32_t first, uint32_t end, struct err_text *err);
