#pragma once
/* Rows of allocations in memory: a block of columns. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a block ended. */
enum block_end {
	BLOCK_IN_USE = 0, /* not freed when the recording ended or as far as it goes: leaked, if the
			     program has ended */
	BLOCK_FREED,
	BLOCK_REALLOCATED, /* ended by a realloc; the next of the chain goes on */
	BLOCK_INFERRED,	   /* its address came again without a free: freed some time before */
	BLOCK_CENSORED,	   /* a gap or a change of mode hides its end: not a leak */
	BLOCK_EXEC,	   /* the program replaced itself */
};

#define NO_TIME	 UINT64_MAX
#define NO_BLOCK UINT32_MAX

/*
 * Rows of allocations in blocks of columns; row i of the recording is row i % ROWS_PER_BLOCK of
 * block i / ROWS_PER_BLOCK. In the order of birth. Zone maps (`min`, `max`) let a query pass over a
 * whole block.
 */
#define ROWS_PER_BLOCK 65536

/*
 * What a program follows only a part of (MARK_THINNED) goes on in other rows: the row of a block
 * that was recorded ends as BLOCK_CENSORED then, and if its kind is followed still, a *survivor*
 * begins at that moment, which stands for all that were in its place by its weight. Survivors are
 * what is in use, and leaks; nobody has allocated them.
 */
#define ROW_SURVIVOR 0xc0 /* in `kind`: one of these: */
/* of a halving of the set of sampled blocks, in which it was perhaps (thinned.h) */
#define ROW_EITHER  0x40
#define ROW_THINNED 0x80 /* of a level: it is not in the set */
#define ROW_HALVED  0xc0 /* of a halving: it is */
#define ROW_KIND    0x3f

/*
 * In `death_kind`: the thread that freed the block had allocated it, and nothing since. Times of a
 * recording have steps of a microsecond; within one, only the order of its events tells this.
 */
#define ROW_AT_ONCE 0x80

struct row_block {
	uint32_t count;
	uint64_t first_row;
	const uint64_t *address;
	const uint64_t *size;	     /* bytes asked for */
	const uint64_t *birth_ns;    /* stream time */
	const uint64_t *death_ns;    /* NO_TIME: BLOCK_IN_USE */
	const uint64_t *weight;	     /* bytes it stands for; NULL: each stands for itself */
	const uint32_t *stack;	     /* node */
	const uint32_t *death_stack; /* node; 0: none */
	const uint32_t *thread;
	const uint32_t *death_thread;
	const uint32_t *chain_previous; /* row that realloc turned into this one, NO_BLOCK: first of
					   its chain */
	const uint32_t *chain_next;	/* NO_BLOCK: last of its chain */
	const uint8_t *kind;		/* EventKind of the birth, and ROW_SURVIVOR; see row_kind */
	const uint8_t *death_kind; /* EventKind of the death, and ROW_AT_ONCE; see row_death_kind.
				      Of a block in use nothing that anybody may look at */
	const uint8_t *end;	   /* enum block_end */
	bool weighted;		   /* the block has weights */
	bool exact; /* they count blocks (origin_info.exact), and estimate nothing; of a reader's
		       blocks */
	bool survivors; /* there may be some, in the recording; of a reader's blocks */
	struct {
		uint64_t birth_ns, size, address, death_ns;
	} min, max; /* max.death_ns: NO_TIME while any is in use; of deaths these are bounds, no
		       more */
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
 * Reading rows. A reader unpacks one block at a time into memory of its own, only the columns that
 * are asked for, so several threads read one recording, each with its reader:
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
