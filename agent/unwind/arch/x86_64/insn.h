#pragma once
/*
 * As much of x86-64 machine code as following the stack pointer takes: how long an instruction is,
 * and its operands where they may concern sp or fp. Encoding: Intel's manual, volume 2, chapter 2
 * and the opcode maps of appendix A.
 */
#include <stdbool.h>
#include <stdint.h>

enum { INSN_SP = 4, INSN_FP = 5 }; /* register numbers, as instructions have them */

struct insn {
	const uint8_t *next; /* the instruction behind it */
	uint8_t map; /* 0: one-byte opcodes; 1: 0f; 2: 0f 38; 3: 0f 3a; with VEX or EVEX: 16 more */
	uint8_t opcode;
	bool wide;     /* 64-bit operands were asked for (REX.W) */
	bool repeated; /* f3 */
	uint8_t mod;   /* 3: `rm` is a register, else the base of an address */
	uint8_t reg;   /* or which of a group of instructions it is; 8 to 15 are r8 to r15 */
	uint8_t rm;
	bool simple;   /* the address is rm + displacement and nothing else */
	bool relative; /* the address is next + displacement; that lies in front of the constant */
	uint8_t immediate_bytes;
	int32_t displacement;
	int32_t immediate; /* also the distance of a jump */
};

/* What it means for where the program goes on. */
enum insn_flow {
	FLOW_ON,
	FLOW_BRANCH,	  /* also at next + immediate */
	FLOW_JUMP,	  /* only there */
	FLOW_AWAY,	  /* jumps to where we cannot tell */
	FLOW_AWAY_STATIC, /* the same through a pointer at a fixed place: a call of another function
			     in place of a return */
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_STOP,  /* traps */
	FLOW_BEGIN, /* endbr64: a function begins, or setjmp returns here */
};

/* Reads the instruction at `code`, without touching `end` or what lies behind. False: there is
 * none, or none that programs use. */
bool insn_read(const uint8_t *code, const uint8_t *end, struct insn *ret_insn);

enum insn_flow insn_flow(const struct insn *insn);

/* Nothing but filling between functions and before loops. */
bool insn_is_padding(const struct insn *insn);
