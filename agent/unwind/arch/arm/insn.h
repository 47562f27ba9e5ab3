#pragma once
/* Reads instructions of Thumb-2 and ARM: only their effects on sp, the frame pointers and the
 * return address. Encodings: Arm ARM (DDI 0406), A5 and A6. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { /* registers */
       INSN_R7 = 7,
       INSN_R11 = 11,
       INSN_SP = 13,
       INSN_LR = 14,
       INSN_PC = 15,
};

enum insn_kind {
	INSN_OTHER,
	INSN_PUSH,	 /* `mask` has the registers; 0 if they are vector registers */
	INSN_ROOM,	 /* sp goes down by `bytes` */
	INSN_ROOM_LOOSE, /* sp goes down by the value of a register */
	INSN_POP,	 /* `mask` */
	INSN_LESS,	 /* sp goes up by `bytes` */
	INSN_BASE,	 /* `reg` = sp + bytes */
	INSN_REBASE,	 /* `reg` goes up by `bytes` */
	INSN_UNBASE,	 /* sp = `reg` - bytes */
	INSN_RETURN,	 /* bx lr */
	INSN_LINK,	 /* lr is set, but not by a pop */
	INSN_JUMP,
	INSN_CALL,
	INSN_COMPARE, /* compares with `bytes` */
	INSN_TABLE,   /* jumps by the table that follows, whose entries have `bytes` bytes */
};

struct insn {
	const uint8_t *next;
	enum insn_kind kind;
	uint32_t mask;
	int32_t bytes; /* also set for pushes and pops */
	unsigned reg;
};

static inline uint32_t insn_word(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

static inline uint16_t insn_half(const uint8_t *code)
{
	uint16_t half;

	memcpy(&half, code, sizeof(half));
	return half;
}

/* True if this is the first half of a Thumb instruction of four bytes. */
static inline bool insn_is_long(uint16_t half)
{
	return half >= 0xe800;
}

/* Tells whether these halves can be one instruction. Used if the second half could also be an
 * instruction of a prologue: 0xb4xx, 0xb5xx and 0xe92d push, 0xb08x makes room. In all of these a
 * bit is set that some instructions of four bytes require to be clear: lists of registers don't
 * name sp (A6.3.5), and operations with a shifted register have bit 15 clear (A6.3.11). */
static inline bool insn_may_pair(uint16_t first, uint16_t second)
{
	if ((first & 0xfe40) == 0xe800)
		return !(second & 1u << INSN_SP);
	if ((first & 0xfe00) == 0xea00)
		return !(second & 0x8000);
	return first != 0xffff; /* 0xffff is data: a negative number */
}

/* Tells whether Thumb code before `end` calls: bl, or blx of an address (four bytes), or blx of a
 * register (two). Four bytes must be readable. */
static inline bool insn_thumb_call(const uint8_t *end)
{
	uint16_t first = insn_half(end - 4), last = insn_half(end - 2);

	if ((first & 0xf800) == 0xf000 && (last & 0xc000) == 0xc000 &&
	    ((last & 0x1000) || !(last & 1)))
		return true;
	return (last & 0xff87) == 0x4780;
}

/* Does the same for ARM code: bl, blx of an address, blx of a register. */
static inline bool insn_arm_call(const uint8_t *end)
{
	uint32_t word = insn_word(end - 4);

	if ((word & 0x0f000000) == 0x0b000000 || (word & 0xfe000000) == 0xfa000000)
		return true;
	return (word & 0x0ffffff0) == 0x012fff30;
}

/* Reads the instruction at `at`, Thumb or ARM. Returns false if there are too few bytes. */
bool insn_read(const uint8_t *at, const uint8_t *end, bool thumb, struct insn *insn);
