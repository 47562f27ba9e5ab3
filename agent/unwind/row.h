#pragma once
/*
 * A row: how to step from a frame to its caller for one program counter, in 27 bits.
 *
 *   | cfa offset, slots : 25       | type : 2 |   plain; type 1: cfa = sp + offset, 2: fp + offset
 *   | argument : 21       | kind : 4    | 3    : 2 |   special: everything else
 *
 * A plain row has the distances of the return address and of the caller's fp below the cfa; the
 * latter may also still be in its register. The packing depends on the processor (arch_row.h).
 * Nearly all rows are plain; special.c handles the special ones.
 *
 * A cache entry has 8 bytes, so that a thread can read what another one writes without a lock:
 *
 *   | key >> 10 : 37 | row : 27 |       key = pc >> ARCH_PC_SHIFT, at most 47 bits
 *
 * The low 10 bits of the key follow from the entry's place, which is a function of (key ^ key >>
 * 10) in its low bits. A larger table uses more of these bits, and entries stay valid when a table
 * grows. Entry 0 is empty.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/arch/arch.h"

#define ROW_BITS     27
#define ROW_MASK     ((1u << ROW_BITS) - 1)
#define KEY_LOW_BITS 10

enum row_type { ROW_NONE, ROW_SP, ROW_FP, ROW_SPECIAL };

enum row_kind {
	ROW_END, /* outermost frame; argument: enum row_end */
	ROW_BAD, /* not an address of code; argument BAD_FOR_NOW: unknown now, never cached */
	ROW_FRAME_POINTER, /* no table: the step uses a frame record if that passes the checks;
			    * argument: enum row_record */
	ROW_SIGNAL,	   /* the kernel's signal frame; argument: of arch_is_signal_return */
	ROW_PLT,	   /* argument: constant of arch_plt_cfa */
	ROW_DEREF_FP,	   /* cfa = *(fp + argument), fp = *fp: stacks realigned by gcc */
	ROW_DEREF_SP,	   /* cfa = *(sp + a) + b, fp at cfa - 8c: hand-written code of OpenSSL;
			    * row_deref_sp */
	ROW_GENERAL,	   /* anything else: decoded again at each use */
	ROW_SCANNED,  /* no table: like a plain row, derived from the code and checked at each use;
		       * row_scanned */
	ROW_SWITCHED, /* the caller's frame is on another stack; row_switched */
	ROW_LINK, /* interrupted before the return address was saved: cfa = sp + 8 * argument, the
		   * rest is in registers */
};

/* END_CERTAIN: the table says so, or the kernel or libc starts a thread there. END_BY_HAND: code
 * has put the address on the stack (makecontext), or the word is not a return address. */
enum row_end { END_CERTAIN = 0, END_BY_HAND = 1 };

#define BAD_FOR_NOW 1u

enum row_record {
	RECORD_IN_MODULE = 1,
	RECORD_FIRST = 2,     /* if fp is 0 this is the outermost frame */
	RECORD_BY_HAND = 4,   /* no call precedes the address: unless the code was interrupted,
			       * code has put it on the stack as the end */
	RECORD_ELSEWHERE = 8, /* the record exists, but on another stack */
};

#define ROW_ARGUMENT_BITS 21

static inline uint32_t row_special(enum row_kind kind, uint32_t argument)
{
	return ROW_SPECIAL | (uint32_t)kind << 2 | argument << 6;
}

static inline bool row_is_plain(uint32_t row)
{
	return ((row - 1) & 3) < 2;
}

static inline bool row_is(uint32_t row, enum row_kind kind)
{
	return (row & 0x3f) == row_special(kind, 0);
}

static inline enum row_type row_type(uint32_t row)
{
	return row & 3;
}

struct check { /* a slot that a walk has read, and its value */
	uint64_t slot;
	uint64_t value;
};

/*
 * Functions of plain rows:
 *
 *   row_base(row, sp, fp), row_cfa(row)   the canonical frame address is their sum
 *   row_ra(row)                           distance of the return address below it
 *   row_lowest(row)                       maximum distance of what the step reads below it
 *   row_keeps_fp(row)                     the caller's fp, or a part of it (ARM has two), is still
 *                                         in its register
 *   row_saves_fp(row)                     the caller's fp, or a part of it, is read from the stack
 *   row_caller_fp(row, cfa, fp)           the caller's fp
 *   row_fp_checks(row, cfa, fp, to)       the slots from which it was read, at most
 *                                         ROW_FP_CHECKS; returns their number
 *   row_of_frame(frame, ret_row)          false if the frame does not fit into a row
 */
#include "arch_row.h"

static inline enum row_kind row_kind(uint32_t row)
{
	return row >> 2 & 15;
}

static inline uint32_t row_argument(uint32_t row)
{
	return row >> 6;
}

/* cfa = *(sp + 8 * a) + 8 * b, caller's fp at cfa - 8 * c (0: kept); a has 10 bits, b 5, c 6. */
static inline uint32_t row_deref_sp(uint32_t a, uint32_t b, uint32_t c)
{
	return row_special(ROW_DEREF_SP, a | b << 10 | c << 15);
}

/* | fp slot : 5 | cfa offset / 8 : 15 | from fp : 1 | */
static inline uint32_t row_scanned(const struct arch_frame *frame)
{
	return row_special(ROW_SCANNED,
			   frame->from_fp | frame->cfa_words << 1 | frame->fp_words << 16);
}

static inline struct arch_frame row_scanned_frame(uint32_t row)
{
	uint32_t argument = row_argument(row);

	return (struct arch_frame){.from_fp = argument & 1,
				   .cfa_words = argument >> 1 & ARCH_FRAME_CFA_MAX,
				   .fp_words = argument >> 16};
}

/* *(sp + 8 * owner) points to the owner of the other stack, and the word at 8 * end in the owner
 * points to the end of that stack. *(sp + 8 * depth) is the distance from this end down to the
 * other stack's sp. From that sp, the cfa is `cfa` words higher, and the caller's fp lies `fp`
 * words below the cfa (as in struct arch_frame). */
struct row_switched {
	uint32_t owner, end, depth, cfa, fp;
};

static inline bool row_switched_fits(const struct row_switched *how)
{
	return how->owner < 32 && how->end < 16 && how->depth < 32 && how->cfa < 16 && how->fp < 8;
}

static inline uint32_t row_switched(const struct row_switched *how)
{
	return row_special(ROW_SWITCHED, how->owner | how->end << 5 | how->depth << 9 |
						 how->cfa << 14 | how->fp << 18);
}

static inline struct row_switched row_switched_of(uint32_t row)
{
	uint32_t argument = row_argument(row);

	return (struct row_switched){.owner = argument & 31,
				     .end = argument >> 5 & 15,
				     .depth = argument >> 9 & 31,
				     .cfa = argument >> 14 & 15,
				     .fp = argument >> 18};
}

/* cfa = *(fp + 8 * words); `words` is signed. */
static inline uint32_t row_deref_fp(int32_t words)
{
	return row_special(ROW_DEREF_FP, (uint32_t)words & ((1u << ROW_ARGUMENT_BITS) - 1));
}

static inline int64_t row_deref_fp_offset(uint32_t row)
{
	return (int64_t)((int32_t)(row_argument(row) << (32 - ROW_ARGUMENT_BITS)) >>
			 (32 - ROW_ARGUMENT_BITS)) *
	       8;
}

static inline uint64_t key_of(uint64_t pc)
{
	return pc >> ARCH_PC_SHIFT;
}

static inline uint64_t key_place(uint64_t key)
{
	return key ^ key >> KEY_LOW_BITS;
}

static inline bool entry_is(uint64_t entry, uint64_t key)
{
	return entry >> ROW_BITS == key >> KEY_LOW_BITS;
}

static inline uint64_t entry_of(uint64_t key, uint32_t row)
{
	return key >> KEY_LOW_BITS << ROW_BITS | row;
}

static inline uint32_t entry_row(uint64_t entry)
{
	return (uint32_t)entry & ROW_MASK;
}
