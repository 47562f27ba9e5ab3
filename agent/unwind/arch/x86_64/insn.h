#pragma once
/* Reads the parts of x86-64 machine code that are needed to follow the stack pointer: the length of
 * an instruction, and operands that may concern sp or fp. Encoding: Intel's manual, volume 2,
 * chapter 2 and the opcode maps of appendix A. */
#include <stdbool.h>
#include <stdint.h>

enum { INSN_SP = 4, INSN_FP = 5 }; /* register numbers, as instructions encode them */

struct insn {
	const uint8_t *next; /* the instruction that follows */
	uint8_t map; /* 0: one-byte opcodes; 1: 0f; 2: 0f 38; 3: 0f 3a; with VEX or EVEX: 16 more */
	uint8_t opcode;
	bool wide;     /* has 64-bit operands (REX.W) */
	bool repeated; /* has the prefix f3 */
	uint8_t mod;   /* 3: `rm` is a register, else the base of an address */
	uint8_t reg; /* a register, or the instruction's number in a group; 8 to 15 are r8 to r15 */
	uint8_t rm;
	bool simple;   /* the address is rm + displacement, without an index */
	bool relative; /* the address is next + displacement; the displacement lies in front of the
			  constant */
	uint8_t immediate_bytes;
	int32_t displacement;
	int32_t immediate; /* also the distance of a jump */
};

/* Where execution continues after an instruction. */
enum insn_flow {
	FLOW_ON,
	FLOW_BRANCH,	  /* at `next`, or at next + immediate */
	FLOW_JUMP,	  /* only at next + immediate */
	FLOW_AWAY,	  /* at an unknown address */
	FLOW_AWAY_STATIC, /* at an unknown address, through a pointer at a fixed one: a tail call */
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_STOP,  /* nowhere: the instruction traps */
	FLOW_BEGIN, /* endbr64: a function begins, or setjmp returns here */
};

/* Decodes the instruction at `code`. Reads nothing from `end` on. Returns false if the bytes are
 * not a whole instruction, or one that programs do not use. */
bool insn_read(const uint8_t *code, const uint8_t *end, struct insn *ret_insn);

enum insn_flow insn_flow(const struct insn *insn);

/* True for padding between functions and before loops. */
bool insn_is_padding(const struct insn *insn);
