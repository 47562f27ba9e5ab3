#pragma once
/*
 * A block of rows: in memory, where rows are appended and their ends filled in; and packed, as it
 * lies on disk, for good.
 *
 *   | header, BLOCK_HEADER bytes                                  | column | column | ...
 *   | magic | version | rows | first row | of each column: length, XXH3 | XXH3 of the header |
 *
 * Numbers are little endian. A column is a row of chunks of PACK_VALUES rows (pack.h), of values
 * that are small or repeat:
 *
 *   birth_ns       the first of the chunk as a varint, then differences to the row before
 *   death_ns       lifetime; 0 of a block in use
 *   death_thread   difference to the thread, of a block that was freed; the number itself of others
 *   chain_*        distance to the other row, 0: none
 *   weight         no bytes at all: each row stands for itself
 *   others         as they are
 *
 * A reader takes the columns that it wants, copied out of the file and checked as a copy: whatever
 * happens to the file meanwhile, what is unpacked are the bytes that were checked. Without
 * ROWS_PER_BLOCK rows a block is the last of its recording.
 */
#include "base/buf.h"
#include "collector/columns/row_block.h"

struct err_text;

enum block_column {
	COLUMN_ADDRESS,
	COLUMN_SIZE,
	COLUMN_BIRTH,
	COLUMN_DEATH,
	COLUMN_END,
	COLUMN_WEIGHT,
	COLUMN_STACK,
	COLUMN_DEATH_STACK,
	COLUMN_THREAD,
	COLUMN_DEATH_THREAD,
	COLUMN_CHAIN_PREVIOUS,
	COLUMN_CHAIN_NEXT,
	COLUMN_KIND,
	COLUMN_DEATH_KIND,
	BLOCK_COLUMNS,
};

#define BLOCK_VERSION 1
#define BLOCK_HEADER  (4 + 4 + 4 + 8 + BLOCK_COLUMNS * 12 + 8)
/* No column of sane values is longer: 8 bytes a value and what surrounds them. */
#define BLOCK_COLUMN_MAX (ROWS_PER_BLOCK * 9u)

/* No time of a row is later: sums of two do not wrap, and none of them is NO_TIME. */
#define ROWS_TIME_MAX (UINT64_MAX / 2)

/* The writable columns behind a struct row_block. */
struct rows_block {
	struct row_block view; /* its pointers are those below, or NULL */
	uint64_t *address, *size, *birth_ns, *death_ns, *weight;
	uint32_t *stack, *death_stack, *thread, *death_thread, *chain_previous, *chain_next;
	uint8_t *kind, *death_kind, *end;
	uint64_t last_death_ns; /* of those that have ended */
	uint32_t in_use;	/* rows that have not ended */
	void *memory;
};

/* NULL: no memory. All of its columns are in the view, but the weight. */
struct rows_block *block_new(uint64_t first_row);
void block_free(struct rows_block *block);
/* Without rows, to be used again. */
void block_clear(struct rows_block *block, uint64_t first_row);
/* Each row stands for itself until it is said otherwise. 0 or -ENOMEM. */
int block_add_weights(struct rows_block *block);
/* What its view says of all rows, and `in_use`, from the rows; block_measure_ends: the part that
 * ends have to do with. */
void block_measure(struct rows_block *block);
void block_measure_ends(struct rows_block *block);

/* Appends the packed block to `out`: its length is what was appended. Lack of memory shows in
 * buf_error. */
void block_pack(const struct rows_block *block, struct buf *out);

/* Where a packed block lies: in a file, or (fd -1) in memory. */
struct block_source {
	int fd;
	uint64_t offset;
	const uint8_t *memory;
	uint32_t length;
};

/* Columns of one block as they were read last, and checked: whoever unpacks its rows a few at a
 * time reads them once. All zeros: none. */
struct block_packed {
	struct block_source source; /* whose; length 0: of none */
	struct block_header {
		uint32_t length[BLOCK_COLUMNS];
		uint64_t check[BLOCK_COLUMNS];
	} header;
	struct buf column[BLOCK_COLUMNS]; /* empty: not read, or nothing */
	struct buf spare;
};

void block_packed_done(struct block_packed *packed);

/* What numbers may refer to. */
struct block_limits {
	uint32_t nodes, threads;
	uint64_t rows;
};

/* Unpacks `columns` (enum row_columns) into `block`, which has the right first_row and count, and
 * makes its view show these alone. `spare` lends memory. 0; -EBADMSG: damaged, with a sentence;
 * -ENOMEM; -EIO and the like. */
int block_unpack(struct rows_block *block, const struct block_source *source, unsigned columns,
		 const struct block_limits *limits, struct buf *spare, struct err_text *err);
/* The same, but of the rows from `first` to before `end` alone, and those of their chunks; the
 * others stay what they are in `block`. */
int block_unpack_rows(struct rows_block *block, const struct block_source *source, unsigned columns,
		      uint32_t first, uint32_t end, const struct block_limits *limits,
		      struct block_packed *packed, struct err_text *err);
/* Appends the packed block with the columns of `block` in place of those (enum row_columns) of
 * `source`, and all others as they are there. As block_unpack. */
int block_repack(const struct rows_block *block, const struct block_source *source,
		 unsigned columns, struct buf *out, struct buf *spare);
/* `columns` and what they can't be unpacked without. */
unsigned block_closure(unsigned columns);
