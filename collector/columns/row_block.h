#pragma once
/* Rows of allocations in memory: a block of columns. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a block of the heap ended. */
enum block_end {
	BLOCK_IN_USE = 0, /* not freed before the end of the recording, or of what is read of it;
			     leaked if the program has ended */
	BLOCK_FREED,
	BLOCK_REALLOCATED, /* a realloc ended it; chain_next continues it */
	BLOCK_INFERRED,	   /* its address was allocated again without a free: it was freed at an
			      unknown time before */
	BLOCK_CENSORED,	   /* a gap or a change of mode hides its end: not a leak */
	BLOCK_EXEC,	   /* the program replaced itself */
};

#define NO_TIME	 UINT64_MAX
#define NO_BLOCK UINT32_MAX

/*
 * Rows of allocations, in the order of birth, in blocks of columns. Row i of the recording is in
 * block i / ROWS_PER_BLOCK, at index i % ROWS_PER_BLOCK. The zone maps (`min`, `max`) let a query
 * skip a whole block.
 */
#define ROWS_PER_BLOCK 65536

/*
 * If a program follows only a part of its blocks from some time on (MARK_THINNED), other rows
 * continue them. The row of a recorded block ends at that time as BLOCK_CENSORED. If the program
 * still follows the block, a *survivor* begins at that time; its weight represents all blocks that
 * it replaces. Survivors count as blocks in use and as leaks, but not as allocations.
 */
#define ROW_SURVIVOR 0xc0 /* mask in `kind`; a survivor has one of these values: */
/* made by a halving of the set of sampled blocks, and possibly in that set (thinned.h) */
#define ROW_EITHER  0x40
#define ROW_THINNED 0x80 /* made by a step of the level: not in the set */
#define ROW_HALVED  0xc0 /* made by a halving: in the set */
#define ROW_KIND    0x3f

/*
 * Flag in `death_kind`: the thread that freed the block had allocated it, and allocated nothing
 * since. Times in a recording have steps of a microsecond. Within one step only the order of the
 * thread's events tells this.
 */
#define ROW_AT_ONCE 0x80

struct row_block {
	uint32_t count;
	uint64_t first_row;
	const uint64_t *address;
	const uint64_t *size;	     /* as requested, in bytes */
	const uint64_t *birth_ns;    /* stream time */
	const uint64_t *death_ns;    /* NO_TIME if BLOCK_IN_USE */
	const uint64_t *weight;	     /* bytes that the row represents; NULL: its own size */
	const uint32_t *stack;	     /* node */
	const uint32_t *death_stack; /* node; 0: none */
	const uint32_t *thread;
	const uint32_t *death_thread;
	const uint32_t *chain_previous; /* row that realloc turned into this one; NO_BLOCK: first of
					   its chain */
	const uint32_t *chain_next;	/* NO_BLOCK: last of its chain */
	const uint8_t *kind;		/* EventKind of the birth, and ROW_SURVIVOR; see row_kind */
	const uint8_t *death_kind; /* EventKind of the death, and ROW_AT_ONCE; see row_death_kind.
				      Undefined for a block in use */
	const uint8_t *end;	   /* enum block_end */
	bool weighted;		   /* the block has weights */
	bool exact; /* weights count blocks (origin_info.exact) and are no estimates; set only in a
		       reader's blocks */
	bool survivors; /* the recording may have survivors; set only in a reader's blocks */
	struct {
		uint64_t birth_ns, size, address, death_ns;
	} min, max; /* max.death_ns: NO_TIME while a row is in use; both death_ns are bounds and
		       need not be reached */
};

static inline unsigned row_kind(const struct row_block *block, uint32_t i)
{
	return block->kind[i] & ROW_KIND;
}

static inline unsigned row_death_kind(const struct row_block *block, uint32_t i)
{
	return block->death_kind[i] & ROW_KIND;
}

static inline bool row_survivor(const struct row_block *block, uint32_t i)
{
	return block->survivors && block->kind[i] & ROW_SURVIVOR;
}

/*
 * Columns to read. A reader unpacks one block at a time into its own memory, and only the requested
 * columns. Several threads can therefore read one recording, each with its own reader:
 *
 *	for (b = 0; b < recording_blocks(r); b++)
 *		if (zone_can_match(recording_zone(r, b)))
 *			block = row_reader_block(reader, b, ROWS_SIZE | ROWS_STACK, err);
 */
enum row_columns {
	ROWS_ADDRESS = 1u << 0,
	ROWS_SIZE = 1u << 1,
	ROWS_BIRTH = 1u << 2, /* birth_ns */
	ROWS_DEATH = 1u << 3, /* death_ns */
	ROWS_END = 1u << 4,
	ROWS_WEIGHT = 1u << 5,
	ROWS_STACK = 1u << 6,
	ROWS_DEATH_STACK = 1u << 7,
	ROWS_THREAD = 1u << 8,
	ROWS_DEATH_THREAD = 1u << 9,
	ROWS_CHAIN = 1u << 10, /* chain_previous, chain_next */
	ROWS_KIND = 1u << 11,
	ROWS_DEATH_KIND = 1u << 12,
	ROWS_ALL = (1u << 13) - 1,
};
