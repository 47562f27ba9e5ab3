#pragma once
/*
 * A block of rows. In memory, rows are appended and their ends are filled in. On disk, the block is
 * packed and immutable.
 *
 *   | header, BLOCK_HEADER bytes                                      | column | column | ...
 *   | magic | version | rows | first row | of each column: length, XXH3 | XXH3 of the header |
 *
 * Numbers are little endian. A column is a sequence of chunks of PACK_VALUES rows (pack.h). Values
 * are transformed to be small or to repeat:
 *
 *   birth_ns       the first of the chunk as a varint, then differences to the previous row
 *   death_ns       lifetime; 0 for a block in use
 *   death_thread   freed or reallocated blocks: difference to the thread; others: the number
 *   chain_*        distance to the other row, 0: none
 *   weight         no bytes at all: each row represents itself
 *   others         unchanged
 *
 * A reader copies the columns that it needs out of the file and verifies the copy. The unpacked
 * bytes are therefore the verified ones, even if the file changes meanwhile. A block with fewer
 * than ROWS_PER_BLOCK rows is the last of its recording.
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
/*
 * Upper bound of a column's length with valid values: 8 bytes per value and the overhead of
 * packing.
 */
#define BLOCK_COLUMN_MAX (ROWS_PER_BLOCK * 9u)

/*
 * Upper bound of all times of rows. The sum of two times does not wrap, and no time equals NO_TIME.
 */
#define ROWS_TIME_MAX (UINT64_MAX / 2)

/* The writable columns behind a struct row_block. */
struct rows_block {
	struct row_block view; /* its pointers refer to the arrays below, or are NULL */
	uint64_t *address, *size, *birth_ns, *death_ns, *weight;
	uint32_t *stack, *death_stack, *thread, *death_thread, *chain_previous, *chain_next;
	uint8_t *kind, *death_kind, *end;
	uint64_t last_death_ns; /* latest death of the rows that have ended */
	uint32_t in_use;	/* rows that have not ended */
	void *memory;
};

/*
 * Makes an empty block whose view shows all columns but the weight. Returns NULL if memory is
 * short.
 */
struct rows_block *block_new(uint64_t first_row);
void block_free(struct rows_block *block);
/* Empties a block for reuse. */
void block_clear(struct rows_block *block, uint64_t first_row);
/* Adds a weight column, in which each row represents itself at first. Returns 0 or -ENOMEM. */
int block_add_weights(struct rows_block *block);
/*
 * Computes the statistics in the view, and `in_use`, from the rows. block_measure_ends computes
 * only those that depend on ends.
 */
void block_measure(struct rows_block *block);
void block_measure_ends(struct rows_block *block);

/* Appends the packed block to `out`. Shortage of memory shows in buf_error. */
void block_pack(const struct rows_block *block, struct buf *out);

/* The location of a packed block: in a file or, with fd -1, in memory. */
struct block_source {
	int fd;
	uint64_t offset;
	const uint8_t *memory;
	uint32_t length;
};

/*
 * The columns of one block that were read last, already verified. A caller that unpacks a few rows
 * at a time thus reads each column once. All zeros: empty.
 */
struct block_packed {
	struct block_source source; /* the block that `column` belongs to; length 0: none */
	struct block_header {
		uint32_t length[BLOCK_COLUMNS];
		uint64_t check[BLOCK_COLUMNS];
	} header;
	struct buf column[BLOCK_COLUMNS]; /* empty: not read, or no bytes */
	struct buf spare;
};

void block_packed_done(struct block_packed *packed);

/* Limits for the numbers in rows. */
struct block_limits {
	uint32_t nodes, threads;
	uint64_t rows;
};

/*
 * Unpacks `columns` (enum row_columns), and the columns that they depend on, into `block`, and
 * makes its view show only these. The caller has set first_row and count of `block`. `spare`
 * provides memory. Returns 0, -EBADMSG with a sentence if the data is damaged, -ENOMEM, or another
 * negative errno.
 */
int block_unpack(struct rows_block *block, const struct block_source *source, unsigned columns,
		 const struct block_limits *limits, struct buf *spare, struct err_text *err);
/*
 * Does the same for the rows from `first` to before `end`, and for the rest of their chunks. The
 * other rows of `block` keep their contents.
 */
int block_unpack_rows(struct rows_block *block, const struct block_source *source, unsigned columns,
		      uint32_t first, uint32_t end, const struct block_limits *limits,
		      struct block_packed *packed, struct err_text *err);
/*
 * Appends a packed block that takes `columns` (enum row_columns) from `block` and copies all others
 * from `source`. Returns the same errors as block_unpack.
 */
int block_repack(const struct rows_block *block, const struct block_source *source,
		 unsigned columns, struct buf *out, struct buf *spare);
/* Returns `columns` and the columns that are necessary to unpack them. */
unsigned block_closure(unsigned columns);
