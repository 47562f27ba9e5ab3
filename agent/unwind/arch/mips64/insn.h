#pragma once
/* Reads the instructions of MIPS64 (releases 2 to 6) that concern frames. Fields: MIPS64
 * Architecture, volume II-A. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { /* registers */
       INSN_SP = 29,
       INSN_FP = 30,
       INSN_RA = 31,
};

static inline uint32_t insn_at(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	return insn;
}

static inline unsigned insn_op(uint32_t insn)
{
	return insn >> 26;
}

static inline unsigned insn_rs(uint32_t insn)
{
	return insn >> 21 & 31;
}

static inline unsigned insn_rt(uint32_t insn)
{
	return insn >> 16 & 31;
}

static inline unsigned insn_rd(uint32_t insn)
{
	return insn >> 11 & 31;
}

static inline int32_t insn_immediate(uint32_t insn)
{
	return (int16_t)insn;
}

/* SPECIAL: the operation is in the low bits. */
static inline bool insn_is_special(uint32_t insn, unsigned function)
{
	return !insn_op(insn) && (insn & 63) == function;
}

/* Calls: jal; jalr (also jalr.hb) that keeps the return address in ra; bal, bgezal, bltzal and
 * their likely forms. */
static inline bool insn_is_call(uint32_t insn)
{
	if (insn_op(insn) == 3 || (insn_is_special(insn, 9) && insn_rd(insn) == INSN_RA))
		return true;
	return insn_op(insn) == 1 && (insn_rt(insn) & 0x1c) == 0x10;
}

/* Calls of release 6 without a delay slot: balc; jialc; the others compare and call. */
static inline bool insn_is_compact_call(uint32_t insn)
{
	return insn_op(insn) == 0x3a || (insn_op(insn) == 0x3e && !insn_rs(insn));
}

/* daddiu rt, rs, immediate */
static inline bool insn_adds(uint32_t insn, unsigned rt, unsigned rs)
{
	return insn >> 16 == (0x6400u | rs << 5 | rt);
}

/* Returns how far the instruction moves sp by adding a constant; 0 if it does not. */
static inline int32_t insn_moves_sp(uint32_t insn)
{
	return insn_adds(insn, INSN_SP, INSN_SP) ? insn_immediate(insn) : 0;
}

/* daddu or dsubu sp, sp, rt */
static inline bool insn_moves_sp_by(uint32_t insn)
{
	return (insn & 0xffe0fffd) == 0x03a0e82d;
}

/* move rd, rs, encoded as daddu or as or */
static inline bool insn_copies(uint32_t insn, unsigned rd, unsigned rs)
{
	return (insn & ~8u) == (rs << 21 | rd << 11 | 0x25);
}

static inline bool insn_stores(uint32_t insn, unsigned rt) /* sd rt, offset(sp) */
{
	return insn >> 16 == (0xfc00u | INSN_SP << 5 | rt);
}

static inline bool insn_loads(uint32_t insn, unsigned rt) /* ld rt, offset(sp) */
{
	return insn >> 16 == (0xdc00u | INSN_SP << 5 | rt);
}

/* jr rs, also jr.hb, and its encoding in release 6, jalr zero, rs */
static inline bool insn_jumps_to(uint32_t insn, unsigned *ret_rs)
{
	*ret_rs = insn_rs(insn);
	return (insn & 0xfc1ffbff) == 8 || (insn & 0xfc1ffbff) == 9;
}

/* beq zero, zero and bgezal-free forms that always branch */
static inline bool insn_always_branches(uint32_t insn)
{
	return insn >> 16 == 0x1000;
}

/* Conditional: beq bne blez bgtz and likely forms, bltz bgez and likely forms, bc1. */
static inline bool insn_branches(uint32_t insn)
{
	unsigned op = insn_op(insn);

	if ((op >= 4 && op <= 7) || (op >= 0x14 && op <= 0x17))
		return true;
	return (op == 1 && !(insn_rt(insn) & 0x1c)) || (op == 0x11 && insn_rs(insn) == 8);
}
