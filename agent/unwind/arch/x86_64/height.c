/* Follows sp and fp through instructions. See height.h. */
#include "agent/unwind/arch/x86_64/height.h"

#include "agent/unwind/ban.h"

#define REACH (1 << 24) /* distances beyond this are not followed */

static const struct place nowhere = {.base = BASE_NONE};

static struct place moved(struct place place, int32_t distance)
{
	if (distance > REACH || distance < -REACH || place.offset > REACH || place.offset < -REACH)
		return nowhere;
	place.offset += distance;
	return place;
}

static struct place register_value(const struct height *h, uint8_t reg)
{
	return reg == INSN_SP ? h->sp : reg == INSN_FP ? h->fp : nowhere;
}

static struct place operand_address(const struct height *h, const struct insn *insn)
{
	struct place base = insn->simple ? register_value(h, insn->rm) : nowhere;

	return base.stored ? nowhere : moved(base, insn->displacement);
}

static void height_set(struct height *h, uint8_t reg, struct place value)
{
	if (reg == INSN_SP)
		h->sp = value.stored ? nowhere : value;
	else if (reg == INSN_FP)
		h->fp = value;
}

static void save_fp(struct height *h, struct place where)
{
	if (h->pushed.base || !is_from_sp(where))
		return;
	h->pushed = h->fp;
	h->pushed_at = where.offset;
}

static void height_push(struct height *h, uint8_t reg)
{
	h->sp = moved(h->sp, -8);
	if (reg == INSN_FP)
		save_fp(h, h->sp);
}

static void height_pop(struct height *h, uint8_t reg)
{
	struct place top = h->sp;

	h->sp = moved(h->sp, 8);
	if (reg == INSN_FP && h->pushed.base && is_from_sp(top) && top.offset == h->pushed_at) {
		h->fp = h->pushed;
		h->pushed = nowhere;
		return;
	}
	top.stored = true;
	height_set(h, reg, top);
}

/* add, or, adc, sbb, and, sub, xor, cmp of a constant */
static void arithmetic(struct height *h, const struct insn *insn)
{
	if (insn->mod != 3 || insn->rm != INSN_SP)
		return;
	switch (insn->reg & 7) {
	case 0:
		h->sp = moved(h->sp, insn->immediate);
		break;
	case 5:
		h->sp = moved(h->sp, insn->immediate == INT32_MIN ? INT32_MIN : -insn->immediate);
		break;
	case 7:
		break;
	default:
		h->sp = nowhere;
	}
}

static void height_store(struct height *h, const struct insn *insn)
{
	if (insn->mod == 3)
		height_set(h, insn->rm, register_value(h, insn->reg));
	else if (insn->reg == INSN_FP && h->fp.base == BASE_FP && !h->fp.stored)
		save_fp(h, operand_address(h, insn));
}

static void load_register(struct height *h, const struct insn *insn)
{
	struct place value =
		insn->mod == 3 ? register_value(h, insn->rm) : operand_address(h, insn);

	if (insn->mod != 3)
		value.stored = true;
	height_set(h, insn->reg, value);
}

static void height_enter(struct height *h, const struct insn *insn)
{
	height_push(h, INSN_FP);
	h->fp = h->sp;
	h->sp = insn->immediate >> 16 ? nowhere : moved(h->sp, -(insn->immediate & 0xffff));
}

void height_apply(struct height *h, const struct insn *insn)
{
	if (insn->map)
		return;
	switch (insn->opcode) {
	case 0x50 ... 0x57:
		height_push(h, insn->reg);
		break;
	case 0x58 ... 0x5f:
		height_pop(h, insn->reg);
		break;
	case 0x68: /* push of a constant, of flags */
	case 0x6a:
	case 0x9c:
		h->sp = moved(h->sp, -8);
		break;
	case 0x9d: /* pop of flags, into memory */
	case 0x8f:
		h->sp = moved(h->sp, 8);
		break;
	case 0xff: /* push from memory */
		if ((insn->reg & 7) == 6)
			h->sp = moved(h->sp, -8);
		break;
	case 0x81:
	case 0x83:
		arithmetic(h, insn);
		break;
	case 0x01: /* add, and, sub of a register */
	case 0x21:
	case 0x29:
		if (insn->mod == 3 && insn->rm == INSN_SP)
			h->sp = nowhere;
		break;
	case 0x03:
	case 0x23:
	case 0x2b:
		if (insn->reg == INSN_SP)
			h->sp = nowhere;
		break;
	case 0x89:
		height_store(h, insn);
		break;
	case 0x8b:
		load_register(h, insn);
		break;
	case 0x8d: /* lea */
		height_set(h, insn->reg, operand_address(h, insn));
		break;
	case 0xc8:
		height_enter(h, insn);
		break;
	case 0xc9: /* leave */
		height_set(h, INSN_SP, h->fp);
		height_pop(h, INSN_FP);
		break;
	}
}
