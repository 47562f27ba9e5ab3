/* Reads x86-64 instructions. See insn.h. */
#include "agent/unwind/arch/x86_64/insn.h"

#include <string.h>

#include "agent/unwind/ban.h"

/*
 * The bytes that follow an opcode:
 *
 *   .  nothing              m  ModRM            x  no such instruction in 64-bit mode
 *   b  8 bits               B  ModRM, 8 bits    p  it is a prefix
 *   z  32 bits (or 16)      Z  ModRM, 32 bits   r  it is a REX prefix
 *   j  32 bits, always      w  16 bits          v  VEX or EVEX prefix
 *   q  as z, 64 with REX.W  e  24 bits          o  more opcode follows
 *   a  an address           t  ModRM; only the first two of the group have an immediate operand
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxo" /* 00 */
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzpxmmmmbzpx"
			       "mmmmbzpxmmmmbzpx"
			       "rrrrrrrrrrrrrrrr" /* 40 */
			       "................"
			       "xxvmppppzZbB...."
			       "bbbbbbbbbbbbbbbb"
			       "BZxBmmmmmmmmmmmm" /* 80 */
			       "..........x....."
			       "aaaa....bz......"
			       "bbbbbbbbqqqqqqqq"
			       "BBw.vvBZe.w..bx." /* c0 */
			       "mmmmxxx.mmmmmmmm"
			       "bbbbbbbbjjxb...."
			       "p.pp..tt......mm";

static const char two_bytes[] = "mmmmx.....x.xm.B" /* 00 */
				"mmmmmmmmmmmmmmmm"
				"mmmmxxxxmmmmmmmm"
				"........oxoxxxxx"
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"BBBBmmm.mmxxmmmm"
				"jjjjjjjjjjjjjjjj" /* 80 */
				"mmmmmmmmmmmmmmmm"
				"...mBmxx...mBmmm"
				"mmmmmmmmmmBmmmmm"
				"mmBmBBBm........" /* c0 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm";

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool cut;
};

static uint8_t byte(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->cut = true;
	return 0;
}

static int32_t bytes(struct cursor *c, unsigned count)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= (uint32_t)byte(c) << 8 * i;
	return count == 1 ? (int8_t)value : (int32_t)value;
}

/* Reads the prefixes that replace 0f, 0f 38 and 0f 3a: two bytes (c5), three (c4), four (62). */
static void read_vex(struct cursor *c, uint8_t first, struct insn *insn)
{
	uint8_t payload = byte(c);

	insn->map = 16 + (first == 0xc5 ? 1 : payload & 7);
	for (unsigned left = first == 0x62 ? 2 : first == 0xc4; left; left--)
		byte(c);
	insn->opcode = byte(c);
}

/* Reads the opcode. Returns the letter in the tables above for the bytes that follow it. */
static char read_opcode(struct cursor *c, struct insn *insn, uint8_t *rex, bool *narrow)
{
	uint8_t op = byte(c);

	for (; one_byte[op] == 'p'; op = byte(c)) {
		insn->repeated |= op == 0xf3;
		*narrow |= op == 0x66;
	}
	if (one_byte[op] == 'r') {
		*rex = op;
		op = byte(c);
	}
	insn->opcode = op;
	if (one_byte[op] == 'v') {
		read_vex(c, op, insn);
	} else if (one_byte[op] == 'o') {
		insn->map = 1;
		insn->opcode = byte(c);
		if (two_bytes[insn->opcode] == 'o') {
			insn->map = insn->opcode == 0x38 ? 2 : 3;
			insn->opcode = byte(c);
		}
	}
	switch (insn->map & 15) {
	case 0:
		return insn->map ? 'x' : one_byte[op];
	case 1:
		return two_bytes[insn->opcode];
	case 3:
		return 'B';
	default:
		return 'm';
	}
}

static void read_modrm(struct cursor *c, struct insn *insn, uint8_t rex)
{
	uint8_t modrm = byte(c), sib = 0x20, mod = modrm >> 6, rm = modrm & 7;

	insn->mod = mod;
	insn->reg = (modrm >> 3 & 7) | (rex << 1 & 8);
	insn->relative = !mod && rm == 5;
	if (mod < 3 && rm == 4) {
		sib = byte(c);
		rm = sib & 7;
	}
	/* Index 4 means no index. Without a displacement, base 5 means no base, or pc. */
	insn->simple = (sib >> 3 & 7) == 4 && !(rex & 2) && (mod || rm != 5);
	if (mod == 1)
		insn->displacement = bytes(c, 1);
	else if (mod == 2 || (!mod && rm == 5))
		insn->displacement = bytes(c, 4);
	insn->rm = rm | (rex << 3 & 8);
}

static unsigned immediate_bytes(const struct insn *insn, char form, bool narrow)
{
	switch (form) {
	case 'b':
	case 'B':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'j':
		return 4;
	case 'a':
		return 8;
	case 'q':
		return insn->wide ? 8 : narrow ? 2 : 4;
	case 't':
		if (insn->reg & 6)
			return 0;
		return !(insn->opcode & 1) ? 1 : narrow ? 2 : 4;
	case 'z':
	case 'Z':
		return narrow ? 2 : 4;
	default:
		return 0;
	}
}

bool insn_read(const uint8_t *code, const uint8_t *end, struct insn *ret_insn)
{
	struct cursor c = {.at = code, .end = end};
	struct insn insn = {.mod = 3};
	bool narrow = false;
	unsigned immediate;
	uint8_t rex = 0;
	char form = read_opcode(&c, &insn, &rex, &narrow);

	insn.wide = rex & 8;
	if (form == 'x' || form == 'p' || form == 'r' || form == 'v' || form == 'o')
		return false;
	if (form == 'm' || form == 'B' || form == 'Z' || form == 't')
		read_modrm(&c, &insn, rex);
	else
		insn.reg = (insn.opcode & 7) | (rex << 3 & 8);
	immediate = immediate_bytes(&insn, form, narrow);
	insn.immediate_bytes = (uint8_t)immediate;
	insn.immediate = bytes(&c, immediate < 4 ? immediate : 4);
	if (immediate == 8)
		bytes(&c, 4);
	insn.next = c.at;
	*ret_insn = insn;
	return !c.cut && c.at - code <= 15;
}

static enum insn_flow flow_two_bytes(const struct insn *insn)
{
	switch (insn->opcode) {
	case 0x80 ... 0x8f:
		return FLOW_BRANCH;
	case 0x0b: /* ud2, ud1, ud0 */
	case 0xb9:
	case 0xff:
		return FLOW_STOP;
	case 0x1e:
		return insn->repeated && insn->mod == 3 && insn->reg == 7 && insn->rm == 2
			       ? FLOW_BEGIN
			       : FLOW_ON;
	default:
		return FLOW_ON;
	}
}

static enum insn_flow flow_group(const struct insn *insn)
{
	switch (insn->reg & 7) {
	case 2:
	case 3:
		return FLOW_CALL;
	case 4:
	case 5:
		return !insn->mod && insn->rm == 5 ? FLOW_AWAY_STATIC : FLOW_AWAY;
	default:
		return FLOW_ON;
	}
}

enum insn_flow insn_flow(const struct insn *insn)
{
	if (insn->map)
		return insn->map == 1 ? flow_two_bytes(insn) : FLOW_ON;
	switch (insn->opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return FLOW_BRANCH;
	case 0xc3:
		return FLOW_RETURN;
	case 0xc2: /* returns that pop arguments, far returns, returns from interrupts; int3, hlt */
	case 0xca ... 0xcc:
	case 0xcf:
	case 0xf4:
		return FLOW_STOP;
	case 0xe8:
		return FLOW_CALL;
	case 0xe9:
	case 0xeb:
		return FLOW_JUMP;
	case 0xff:
		return flow_group(insn);
	default:
		return FLOW_ON;
	}
}

bool insn_is_padding(const struct insn *insn)
{
	return insn->map ? insn->map == 1 && insn->opcode == 0x1f
			 : insn->opcode == 0x90 || insn->opcode == 0xcc;
}
