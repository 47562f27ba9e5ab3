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
 * How coarse the estimates for a thinned program are: how much may exist although none of it is
 * seen. `alive` concerns blocks that were recorded and then followed only in part; docs/sampling.md
 * says how it is computed.
 */
struct thinned_info {
	uint64_t from_ns; /* start of thinning; 0: never thinned */
	uint64_t alive_bytes, alive_blocks;
};

struct thinned_info recording_thinned(const struct recording *recording);
/*
 * Returns the root of the sum, over all threads, of the square of the largest interval, in bytes,
 * at which the thread was sampled for lack of room. What threads allocate unseen is independent, so
 * it adds up like errors do.
 */
double recording_thinned_interval(const struct recording *recording);
/* Returns true if the recording has survivors among its rows. */
bool recording_survivors(const struct recording *recording);
/* Returns what is known about a block without reading its rows: count, first_row, min and max. Its
 * columns may be NULL. Returns NULL if there is no such block. */
const struct row_block *recording_zone(const struct recording *recording, uint32_t index);
/* Returns 0 or -ENOMEM. Free the reader before the recording is refreshed or closed. */
int row_reader_new(const struct recording *recording, struct row_reader **ret_reader);
void row_reader_free(struct row_reader *reader);
/* Returns a block with at least these columns, valid until the next call. Other columns may be
 * NULL. Asking for the same block again costs nothing; if more columns are requested, all are
 * unpacked again. Returns NULL without a sentence if there is no such block, and NULL with a
 * sentence if memory is short or neither the file of rows nor the frames can be read. */
const struct row_block *row_reader_block(struct row_reader *reader, uint32_t index,
					 unsigned columns, struct err_text *err);
/* Does the same, but only for the rows from `first` to before `end`. The contents of the others are
 * undefined. */
const struct row_block *row_reader_rows(struct row_reader *reader, uint32_t index, unsigned columns,
					uint32_t first, uint32_t end, struct err_text *err);
