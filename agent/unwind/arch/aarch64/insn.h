#pragma once
/* Reads instructions of AArch64 (Arm ARM, DDI 0487, C4.1). It knows only those by which gcc and
 * clang save the return address (x30), the frame pointer (x29) and the stack pointer. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INSN_FP	 29
#define INSN_RA	 30
#define INSN_SP	 31
#define INSN_RET 0xd65f03c0u

static inline uint32_t insn_at(const uint8_t *at)
{
	uint32_t insn;

	memcpy(&insn, at, sizeof(insn));
	return insn;
}

/* Returns a signed bit field. */
static inline int32_t insn_field(uint32_t insn, unsigned from, unsigned bits)
{
	return (int32_t)(insn << (32 - from - bits)) >> (32 - bits);
}

/* A store or load of 64-bit registers at sp. */
struct insn_access {
	bool load;
	int32_t moves; /* sp moves up by this */
	int32_t at[2]; /* offsets of x29 and x30 from sp before the instruction; INSN_NOT_THERE: the
			  instruction does not access that register */
};

#define INSN_NOT_THERE INT32_MIN

bool insn_access(uint32_t insn, struct insn_access *ret);

/* Recognizes add or sub of a constant: `to` = `from` + *ret_value. A copy has the value 0. */
bool insn_adds(uint32_t insn, unsigned to, unsigned from, int32_t *ret_value);

/* sub sp, sp, xN or add sp, sp, xN */
static inline bool insn_moves_sp_by(uint32_t insn, unsigned *ret_reg)
{
	*ret_reg = insn >> 16 & 31;
	return (insn & 0xbfe0ffff) == 0x8b2063ff;
}

/* bl; blr, also with authentication (blraa and the like). */
static inline bool insn_is_call(uint32_t insn)
{
	return insn >> 26 == 0x25 || (insn & 0xfefff000) == 0xd63f0000;
}

/* ret, retaa, retab */
static inline bool insn_returns(uint32_t insn)
{
	return insn == INSN_RET || (insn & 0xfffffbff) == 0xd65f0bff;
}

/* br, with or without authentication, and b: execution continues elsewhere. */
static inline bool insn_jumps(uint32_t insn)
{
	return insn >> 26 == 5 || (insn & 0xfefff000) == 0xd61f0000;
}

/* Any instruction after which execution may continue elsewhere. The group of encodings also
 * contains system instructions, which are excluded here. */
static inline bool insn_branches(uint32_t insn)
{
	return (insn & 0x1c000000) == 0x14000000 && insn >> 24 != 0xd5;
}
