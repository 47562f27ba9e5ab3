#pragma once
/* Instructions of ARM and Thumb-2, as far as frames need them. Encodings: Arm ARM (DDI 0406), A5 and A6. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* Whether Thumb code before `end` calls: bl, blx of an address (four bytes), blx of a register (two). Four bytes are there. */
static inline bool insn_thumb_call(const uint8_t *end)
{
	uint16_t first = insn_half(end - 4), last = insn_half(end - 2);

	if ((first & 0xf800) == 0xf000 && (last & 0xc000) == 0xc000 && ((last & 0x1000) || !(last & 1)))
		return true;
	return (last & 0xff87) == 0x4780;
}

/* The same of ARM code: bl, blx of an address, blx of a register. */
static inline bool insn_arm_call(const uint8_t *end)
{
	uint32_t word = insn_word(end - 4);

	if ((word & 0x0f000000) == 0x0b000000 || (word & 0xfe000000) == 0xfa000000)
		return true;
	return (word & 0x0ffffff0) == 0x012fff30;
}
