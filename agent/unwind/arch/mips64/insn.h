#pragma once
/* Instructions of MIPS64 (releases 2 to 6), as far as frames need them. Fields: MIPS64 Architecture, volume II-A. */
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

/* jal; jalr (also jalr.hb) that keeps the return address in ra; bal, bgezal, bltzal and the likely forms. */
static inline bool insn_is_call(uint32_t insn)
{
	if (insn_op(insn) == 3 || (insn_is_special(insn, 9) && insn_rd(insn) == INSN_RA))
		return true;
	return insn_op(insn) == 1 && (insn_rt(insn) & 0x1c) == 0x10;
}

/* Release 6: balc; jialc; the others compare and call. No delay slot. */
static inline bool insn_is_compact_call(uint32_t insn)
{
	return insn_op(insn) == 0x3a || (insn_op(insn) == 0x3e && !insn_rs(insn));
}
