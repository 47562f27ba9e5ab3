/* Reads instructions of Thumb-2 and ARM. See insn.h. */
#include "agent/unwind/arch/arm/insn.h"

#include "agent/unwind/ban.h"

static int32_t insn_bytes_of(uint32_t mask)
{
	int32_t bytes = 0;

	for (; mask; mask &= mask - 1)
		bytes += 4;
	return bytes;
}

static void insn_set(struct insn *insn, enum insn_kind kind, int32_t bytes)
{
	insn->kind = kind;
	insn->bytes = bytes;
}

static void set_list(struct insn *insn, enum insn_kind kind, uint32_t mask)
{
	insn->mask = mask;
	insn_set(insn, kind, insn_bytes_of(mask));
}

static void set_base(struct insn *insn, enum insn_kind kind, unsigned reg, int32_t bytes)
{
	if (reg != INSN_R7 && reg != INSN_R11 && kind == INSN_BASE)
		return;
	insn->reg = reg;
	insn_set(insn, kind, bytes);
}

/* sp = rm */
static void set_sp(struct insn *insn, unsigned rm)
{
	if (rm == INSN_R7 || rm == INSN_R11)
		set_base(insn, INSN_UNBASE, rm, 0);
	else
		insn_set(insn, INSN_ROOM_LOOSE, 0);
}

static void read_short(uint16_t half, struct insn *insn)
{
	if ((half & 0xfe00) == 0xb400) /* push */
		set_list(insn, INSN_PUSH, (half & 0xff) | (half & 0x100 ? 1u << INSN_LR : 0));
	else if ((half & 0xfe00) == 0xbc00) /* pop */
		set_list(insn, INSN_POP, (half & 0xff) | (half & 0x100 ? 1u << INSN_PC : 0));
	else if ((half & 0xff80) == 0xb080) /* sub sp, #n */
		insn_set(insn, INSN_ROOM, (half & 0x7f) * 4);
	else if ((half & 0xff80) == 0xb000)
		insn_set(insn, INSN_LESS, (half & 0x7f) * 4);
	else if ((half & 0xff00) == 0xaf00) /* add r7, sp, #n */
		set_base(insn, INSN_BASE, INSN_R7, (half & 0xff) * 4);
	else if ((half & 0xff78) == 0x4668) /* mov rd, sp */
		set_base(insn, INSN_BASE, (half & 7) | (half >> 4 & 8), 0);
	else if ((half & 0xff87) == 0x4685) /* mov sp, rm */
		set_sp(insn, half >> 3 & 15);
	else if ((half & 0xff00) == 0x3700) /* adds r7, #n */
		set_base(insn, INSN_REBASE, INSN_R7, half & 0xff);
	else if ((half & 0xf800) == 0x2800)
		insn_set(insn, INSN_COMPARE, half & 0xff);
	else if (half == 0x4770)
		insn_set(insn, INSN_RETURN, 0);
	else if ((half & 0xff87) == 0x4686) /* mov lr, rm */
		insn_set(insn, INSN_LINK, 0);
	else if ((half & 0xff87) == 0x4780)
		insn_set(insn, INSN_CALL, 0);
	else if ((half & 0xf800) == 0xe000 || (half & 0xff87) == 0x4700)
		insn_set(insn, INSN_JUMP, 0);
}

/* Decodes a modified immediate of Thumb (A6.3.2). Immediates of repeated bytes are not decoded: no
 * frame has such a size. */
static int32_t thumb_immediate(uint16_t first, uint16_t last)
{
	uint32_t code = (first >> 10 & 1u) << 11 | (last >> 12 & 7u) << 8 | (last & 0xff);
	unsigned rotate = code >> 7;

	if (code < 0x100)
		return (int32_t)code;
	if (rotate < 8)
		return -1;
	return (int32_t)((0x80 | (code & 0x7f)) << (32 - rotate));
}

static void read_long(uint16_t first, uint16_t last, struct insn *insn)
{
	uint16_t operation = first & 0xfbff; /* without the highest bit of the immediate */
	int32_t immediate = thumb_immediate(first, last);
	int32_t plain = (first & 0x400) << 1 | (last >> 4 & 0x700) | (last & 0xff);
	unsigned rd = last >> 8 & 15;

	if (first == 0xe92d) /* push.w */
		set_list(insn, INSN_PUSH, last);
	else if (first == 0xe8bd) /* pop.w */
		set_list(insn, INSN_POP, last);
	else if (first == 0xf84d && (last & 0xf00) == 0xd00) /* str rt, [sp, #-n]! */
		insn_set(insn, INSN_PUSH, last & 0xff), insn->mask = 1u << (last >> 12);
	else if (first == 0xf85d && (last & 0xf00) == 0xb00) /* ldr rt, [sp], #n */
		insn_set(insn, INSN_POP, last & 0xff), insn->mask = 1u << (last >> 12);
	else if ((first & 0xff70) == 0xf850 && last >> 12 == INSN_LR) /* ldr lr, [rn, ...] */
		insn_set(insn, INSN_LINK, 0);
	else if (first == 0xe96d) /* strd rt, rt2, [sp, #-n]! */
		insn_set(insn, INSN_PUSH, (last & 0xff) * 4),
			insn->mask = 1u << (last >> 12) | 1u << (last >> 8 & 15);
	else if ((first & 0xffbf) == 0xed2d && (last & 0xe00) == 0xa00) /* vpush */
		insn_set(insn, INSN_PUSH, (last & 0xff) * 4);
	else if ((first & 0xffbf) == 0xecbd && (last & 0xe00) == 0xa00) /* vpop */
		insn_set(insn, INSN_POP, (last & 0xff) * 4);
	else if (operation == 0xf1ad && rd == INSN_SP && immediate >= 0) /* sub.w sp, sp, #n */
		insn_set(insn, INSN_ROOM, immediate);
	else if (operation == 0xf2ad && rd == INSN_SP)
		insn_set(insn, INSN_ROOM, plain);
	else if (operation == 0xf10d && rd == INSN_SP && immediate >= 0)
		insn_set(insn, INSN_LESS, immediate);
	else if (operation == 0xf20d && rd == INSN_SP)
		insn_set(insn, INSN_LESS, plain);
	else if (operation == 0xf10d && immediate >= 0) /* add.w rd, sp, #n */
		set_base(insn, INSN_BASE, rd, immediate);
	else if (operation == 0xf20d)
		set_base(insn, INSN_BASE, rd, plain);
	else if (operation == 0xf107 && rd == INSN_R7 && immediate >= 0) /* add.w r7, r7, #n */
		set_base(insn, INSN_REBASE, INSN_R7, immediate);
	else if (operation == 0xf10b && rd == INSN_R11 && immediate >= 0)
		set_base(insn, INSN_REBASE, INSN_R11, immediate);
	else if (operation == 0xf1a7 && rd == INSN_SP && immediate >= 0) /* sub.w sp, r7, #n */
		set_base(insn, INSN_UNBASE, INSN_R7, immediate);
	else if (operation == 0xf1ab && rd == INSN_SP && immediate >= 0)
		set_base(insn, INSN_UNBASE, INSN_R11, immediate);
	else if ((first & 0xfbf0) == 0xf1b0 && rd == INSN_PC) /* cmp.w rn, #n */
		insn_set(insn, INSN_COMPARE, immediate);
	else if (first == 0xe8df && (last & 0xffe0) == 0xf000) /* tbb, tbh */
		insn_set(insn, INSN_TABLE, last & 0x10 ? 2 : 1);
	else if ((first & 0xffef) == 0xebad && rd == INSN_SP) /* sub.w sp, sp, rm */
		insn_set(insn, INSN_ROOM_LOOSE, 0), insn->reg = last & 15;
	else if ((first & 0xf800) == 0xf000 && (last & 0xd000) == 0xd000) /* bl */
		insn_set(insn, INSN_CALL, 0);
	else if ((first & 0xf800) == 0xf000 && (last & 0xd001) == 0xc000) /* blx */
		insn_set(insn, INSN_CALL, 0);
	else if ((first & 0xf800) == 0xf000 && (last & 0xd000) == 0x9000) /* b.w */
		insn_set(insn, INSN_JUMP, 0);
}

static int32_t arm_immediate(uint32_t word)
{
	unsigned rotate = (word >> 8 & 15) * 2;
	uint32_t value = word & 0xff;

	value = rotate ? value >> rotate | value << (32 - rotate) : value;
	return value <= INT32_MAX ? (int32_t)value : -1;
}

static void read_word(uint32_t word, struct insn *insn)
{
	unsigned rd = word >> 12 & 15, rn = word >> 16 & 15;
	int32_t immediate = arm_immediate(word);

	if (word >> 16 == 0xe92d)
		set_list(insn, INSN_PUSH, word & 0xffff);
	else if (word >> 16 == 0xe8bd)
		set_list(insn, INSN_POP, word & 0xffff);
	else if ((word & 0xffff0000) == 0xe52d0000) /* str rt, [sp, #-n]! */
		insn_set(insn, INSN_PUSH, word & 0xfff), insn->mask = 1u << rd;
	else if ((word & 0xffff0000) == 0xe49d0000)
		insn_set(insn, INSN_POP, word & 0xfff), insn->mask = 1u << rd;
	else if ((word & 0xffbf0e00) == 0xed2d0a00)
		insn_set(insn, INSN_PUSH, (word & 0xff) * 4);
	else if ((word & 0xffbf0e00) == 0xecbd0a00)
		insn_set(insn, INSN_POP, (word & 0xff) * 4);
	else if ((word & 0xfffff000) == 0xe24dd000 && immediate >= 0)
		insn_set(insn, INSN_ROOM, immediate);
	else if ((word & 0x0ff0f000) == 0x0240d000 &&
		 immediate >= 0 && /* possibly with a condition */
		 (rn == INSN_R11 || rn == INSN_R7))
		set_base(insn, INSN_UNBASE, rn, immediate);
	else if ((word & 0xffff0000) == 0xe28d0000 && immediate >= 0) {
		if (rd == INSN_SP)
			insn_set(insn, INSN_LESS, immediate);
		else
			set_base(insn, INSN_BASE, rd, immediate);
	} else if ((word & 0xffff0fff) == 0xe1a0000d)
		set_base(insn, INSN_BASE, rd, 0);
	else if ((word & 0xfffffff0) == 0xe1a0d000)
		set_sp(insn, word & 15);
	else if ((word & 0xfffff000) == 0xe04dd000)
		insn_set(insn, INSN_ROOM_LOOSE, 0), insn->reg = word & 15;
	else if ((word & 0x0ffffff0) == 0x01a0e000 || (word & 0x0c50f000) == 0x0410e000)
		insn_set(insn, INSN_LINK, 0);
	else if (word == 0xe12fff1e)
		insn_set(insn, INSN_RETURN, 0);
	else if ((word & 0xff000000) == 0xeb000000 || (word & 0xfe000000) == 0xfa000000 ||
		 (word & 0x0ffffff0) == 0x012fff30)
		insn_set(insn, INSN_CALL, 0);
	else if ((word & 0xff000000) == 0xea000000 || (word & 0xfffffff0) == 0xe12fff10)
		insn_set(insn, INSN_JUMP, 0);
}

bool insn_read(const uint8_t *at, const uint8_t *end, bool thumb, struct insn *insn)
{
	if (end - at < (thumb ? 2 : 4))
		return false;
	*insn = (struct insn){.kind = INSN_OTHER};
	if (!thumb) {
		insn->next = at + 4;
		read_word(insn_word(at), insn);
	} else if (!insn_is_long(insn_half(at))) {
		insn->next = at + 2;
		read_short(insn_half(at), insn);
	} else {
		if (end - at < 4)
			return false;
		insn->next = at + 4;
		read_long(insn_half(at), insn_half(at + 2), insn);
	}
	return true;
}
