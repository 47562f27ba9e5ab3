/* Tells what instructions change. See effect.h; Intel's manual, volume 2, appendix A. */
#include "agent/unwind/arch/x86_64/effect.h"

#include "agent/unwind/ban.h"

enum { RAX, RCX, RDX };

#define BIT(reg) (1u << (reg))

/* Returns the bit of the register in rm, or 0 if rm is an address. */
static uint32_t rm_of(const struct insn *insn)
{
	return insn->mod == 3 ? BIT(insn->rm) : 0;
}

/* Returns the bits of a byte register. Numbers 4 to 7 may mean the second byte of one of the first
 * four registers. */
static uint32_t byte_of(uint8_t reg)
{
	return BIT(reg) | BIT(reg & 3);
}

static uint32_t rm_byte_of(const struct insn *insn)
{
	return insn->mod == 3 ? byte_of(insn->rm) : 0;
}

/* Handles the eight operations with the opcodes 00 to 05, 08 to 0d... The last one, cmp, changes no
 * register. */
static uint32_t arithmetic(const struct insn *insn)
{
	if (insn->opcode >> 3 == 7)
		return 0;
	switch (insn->opcode & 7) {
	case 0:
		return rm_byte_of(insn);
	case 1:
		return rm_of(insn);
	case 2:
		return byte_of(insn->reg);
	case 3:
		return BIT(insn->reg);
	default:
		return BIT(RAX);
	}
}

/* f6, f7: test, test, not, neg, mul, imul, div, idiv */
static uint32_t unary(const struct insn *insn)
{
	unsigned which = insn->reg & 7;

	if (which < 2)
		return 0;
	if (which < 4)
		return insn->opcode & 1 ? rm_of(insn) : rm_byte_of(insn);
	return BIT(RAX) | BIT(RDX);
}

static bool one_byte(const struct insn *insn, uint32_t *ret)
{
	uint8_t op = insn->opcode;

	if (op < 0x40 && (op & 7) < 6) {
		*ret = arithmetic(insn);
		return true;
	}
	switch (op) {
	case 0x50 ... 0x57: /* pushes */
	case 0x68:
	case 0x6a:
	case 0x84: /* test */
	case 0x85:
	case 0xa8:
	case 0xa9:
		*ret = 0;
		return true;
	case 0x90: /* with a REX prefix it exchanges r8 and rax */
		*ret = insn->reg ? BIT(insn->reg) | BIT(RAX) : 0;
		return true;
	case 0x58 ... 0x5f:
	case 0x63: /* movsxd, imul, mov, lea */
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d:
	case 0xb8 ... 0xbf:
		*ret = BIT(insn->reg);
		return true;
	case 0x8a:
		*ret = byte_of(insn->reg);
		return true;
	case 0xb0 ... 0xb7:
		*ret = byte_of(insn->reg);
		return true;
	case 0x80:
		*ret = (insn->reg & 7) == 7 ? 0 : rm_byte_of(insn);
		return true;
	case 0x81:
	case 0x83:
		*ret = (insn->reg & 7) == 7 ? 0 : rm_of(insn);
		return true;
	case 0x86: /* xchg */
		*ret = byte_of(insn->reg) | rm_byte_of(insn);
		return true;
	case 0x87:
		*ret = BIT(insn->reg) | rm_of(insn);
		return true;
	case 0x88:
	case 0xc0:
	case 0xd0:
	case 0xd2:
		*ret = rm_byte_of(insn);
		return true;
	case 0x89:
	case 0xc1: /* shifts */
	case 0xd1:
	case 0xd3:
		*ret = rm_of(insn);
		return true;
	case 0x98: /* cdqe, cqo */
		*ret = BIT(RAX);
		return true;
	case 0x99:
		*ret = BIT(RDX);
		return true;
	case 0xc6:
	case 0xc7:
		*ret = rm_byte_of(insn);
		return !(insn->reg & 7);
	case 0xf6:
	case 0xf7:
		*ret = unary(insn);
		return true;
	case 0xfe:
		*ret = rm_byte_of(insn);
		return (insn->reg & 7) < 2;
	case 0xff:
		*ret = (insn->reg & 7) == 6 ? 0 : rm_of(insn);
		return (insn->reg & 7) < 2 || (insn->reg & 7) == 6;
	default:
		return false;
	}
}

static bool two_bytes(const struct insn *insn, uint32_t *ret)
{
	switch (insn->opcode) {
	case 0x0d: /* prefetches, moves of vectors */
	case 0x10:
	case 0x11:
	case 0x16:
	case 0x17:
	case 0x18:
	case 0x1f:
	case 0x28:
	case 0x29:
	case 0x57:
	case 0x6c:
	case 0x6e:
	case 0x6f:
	case 0x7f:
	case 0xd6:
	case 0xef:
	case 0xa3: /* bt */
		*ret = 0;
		return true;
	case 0x1e:
		*ret = 0;
		return insn->mod != 3 || insn_flow(insn) == FLOW_BEGIN;
	case 0x40 ... 0x4f: /* cmov, imul, movzx, movsx, bsf, bsr */
	case 0xaf:
	case 0xb6:
	case 0xb7:
	case 0xbc ... 0xbf:
		*ret = BIT(insn->reg);
		return true;
	case 0x90 ... 0x9f:
		*ret = rm_byte_of(insn);
		return true;
	case 0xb0: /* cmpxchg, xadd */
	case 0xb1:
		*ret = rm_byte_of(insn) | BIT(RAX);
		return true;
	case 0xc0:
	case 0xc1:
		*ret = rm_byte_of(insn) | byte_of(insn->reg);
		return true;
	case 0xc8 ... 0xcf:
		*ret = BIT(insn->reg);
		return true;
	default:
		return false;
	}
}

bool effect_registers(const struct insn *insn, uint32_t *ret_registers)
{
	if (!insn->map)
		return one_byte(insn, ret_registers);
	return insn->map == 1 && two_bytes(insn, ret_registers);
}

bool effect_stores(const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == 1 && ((op >= 0x40 && op < 0x50) || op == 0x1e || op == 0x1f ||
			       (op & 0xf6) == 0xb6 || op == 0x28 || op == 0x6f || op == 0xef))
		return false;
	if (insn->map)
		return true;
	if (op < 0x40 && (op & 7) < 6)
		return op >> 3 != 7 && (op & 7) < 2 && insn->mod != 3;
	switch (op) {
	case 0x50 ... 0x63:
	case 0x68 ... 0x6b:
	case 0x84:
	case 0x85:
	case 0x8a:
	case 0x8b:
	case 0x8d:
	case 0x90 ... 0x99:
	case 0xa8:
	case 0xa9:
	case 0xb0 ... 0xbf:
	case 0xc9:
		return false;
	case 0x80:
	case 0x81:
	case 0x83:
		return (insn->reg & 7) != 7 && insn->mod != 3;
	case 0xa2 ... 0xa7: /* instructions at a fixed address, and of strings */
	case 0xaa:
	case 0xab:
		return true;
	case 0xf6:
	case 0xf7:
		return (insn->reg & 6) == 2 && insn->mod != 3;
	default:
		return insn->mod != 3;
	}
}

bool effect_keeps_flags(const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == 1)
		return (op >= 0x40 && op < 0x50) || op == 0x1e || op == 0x1f ||
		       (op & 0xf6) == 0xb6 || op == 0x28 || op == 0x29;
	return !insn->map && ((op >= 0x50 && op < 0x60) || (op >= 0x88 && op <= 0x8d) ||
			      op == 0x90 || (op >= 0xb0 && op < 0xc0) || op == 0xc6 || op == 0xc7);
}
