/* Instructions that are put together from their parts, and read again: every opcode with every
 * ModRM byte, prefixes, and each end. What the parts are is Intel's manual, volume 2, appendix A.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/arch/x86_64/insn.h"

enum operand { NONE, I8, I16, I24, I32, FIXED32, I64, ADDRESS, GROUP }; /* after an opcode */

static const struct form {
	uint8_t map, from, to;
	bool modrm;
	enum operand operand;
} forms[] = {
	{0, 0x00, 0x03, true, NONE},	 {0, 0x04, 0x04, false, I8},
	{0, 0x05, 0x05, false, I32},	 {0, 0x08, 0x0b, true, NONE},
	{0, 0x0c, 0x0c, false, I8},	 {0, 0x0d, 0x0d, false, I32},
	{0, 0x10, 0x13, true, NONE},	 {0, 0x14, 0x14, false, I8},
	{0, 0x15, 0x15, false, I32},	 {0, 0x18, 0x1b, true, NONE},
	{0, 0x1c, 0x1c, false, I8},	 {0, 0x1d, 0x1d, false, I32},
	{0, 0x20, 0x23, true, NONE},	 {0, 0x24, 0x24, false, I8},
	{0, 0x25, 0x25, false, I32},	 {0, 0x28, 0x2b, true, NONE},
	{0, 0x2c, 0x2c, false, I8},	 {0, 0x2d, 0x2d, false, I32},
	{0, 0x30, 0x33, true, NONE},	 {0, 0x34, 0x34, false, I8},
	{0, 0x35, 0x35, false, I32},	 {0, 0x38, 0x3b, true, NONE},
	{0, 0x3c, 0x3c, false, I8},	 {0, 0x3d, 0x3d, false, I32},
	{0, 0x50, 0x5f, false, NONE},	 {0, 0x63, 0x63, true, NONE},
	{0, 0x68, 0x68, false, I32},	 {0, 0x69, 0x69, true, I32},
	{0, 0x6a, 0x6a, false, I8},	 {0, 0x6b, 0x6b, true, I8},
	{0, 0x6c, 0x6f, false, NONE},	 {0, 0x70, 0x7f, false, I8},
	{0, 0x80, 0x80, true, I8},	 {0, 0x81, 0x81, true, I32},
	{0, 0x83, 0x83, true, I8},	 {0, 0x84, 0x8f, true, NONE},
	{0, 0x90, 0x99, false, NONE},	 {0, 0x9b, 0x9f, false, NONE},
	{0, 0xa0, 0xa3, false, ADDRESS}, {0, 0xa4, 0xa7, false, NONE},
	{0, 0xa8, 0xa8, false, I8},	 {0, 0xa9, 0xa9, false, I32},
	{0, 0xaa, 0xaf, false, NONE},	 {0, 0xb0, 0xb7, false, I8},
	{0, 0xb8, 0xbf, false, I64},	 {0, 0xc0, 0xc1, true, I8},
	{0, 0xc2, 0xc2, false, I16},	 {0, 0xc3, 0xc3, false, NONE},
	{0, 0xc6, 0xc6, true, I8},	 {0, 0xc7, 0xc7, true, I32},
	{0, 0xc8, 0xc8, false, I24},	 {0, 0xc9, 0xc9, false, NONE},
	{0, 0xca, 0xca, false, I16},	 {0, 0xcb, 0xcc, false, NONE},
	{0, 0xcd, 0xcd, false, I8},	 {0, 0xcf, 0xcf, false, NONE},
	{0, 0xd0, 0xd3, true, NONE},	 {0, 0xd7, 0xd7, false, NONE},
	{0, 0xd8, 0xdf, true, NONE},	 {0, 0xe0, 0xe7, false, I8},
	{0, 0xe8, 0xe9, false, FIXED32}, {0, 0xeb, 0xeb, false, I8},
	{0, 0xec, 0xef, false, NONE},	 {0, 0xf1, 0xf1, false, NONE},
	{0, 0xf4, 0xf5, false, NONE},	 {0, 0xf6, 0xf7, true, GROUP},
	{0, 0xf8, 0xfd, false, NONE},	 {0, 0xfe, 0xff, true, NONE},
	{1, 0x00, 0x03, true, NONE},	 {1, 0x05, 0x09, false, NONE},
	{1, 0x0b, 0x0b, false, NONE},	 {1, 0x0d, 0x0d, true, NONE},
	{1, 0x0e, 0x0e, false, NONE},	 {1, 0x0f, 0x0f, true, I8},
	{1, 0x10, 0x23, true, NONE},	 {1, 0x28, 0x2f, true, NONE},
	{1, 0x30, 0x37, false, NONE},	 {1, 0x40, 0x6f, true, NONE},
	{1, 0x70, 0x73, true, I8},	 {1, 0x74, 0x76, true, NONE},
	{1, 0x77, 0x77, false, NONE},	 {1, 0x78, 0x79, true, NONE},
	{1, 0x7c, 0x7f, true, NONE},	 {1, 0x80, 0x8f, false, FIXED32},
	{1, 0x90, 0x9f, true, NONE},	 {1, 0xa0, 0xa2, false, NONE},
	{1, 0xa3, 0xa3, true, NONE},	 {1, 0xa4, 0xa4, true, I8},
	{1, 0xa5, 0xa5, true, NONE},	 {1, 0xa8, 0xaa, false, NONE},
	{1, 0xab, 0xab, true, NONE},	 {1, 0xac, 0xac, true, I8},
	{1, 0xad, 0xb9, true, NONE},	 {1, 0xba, 0xba, true, I8},
	{1, 0xbb, 0xc1, true, NONE},	 {1, 0xc2, 0xc2, true, I8},
	{1, 0xc3, 0xc3, true, NONE},	 {1, 0xc4, 0xc6, true, I8},
	{1, 0xc7, 0xc7, true, NONE},	 {1, 0xc8, 0xcf, false, NONE},
	{1, 0xd0, 0xff, true, NONE},	 {2, 0x00, 0xff, true, NONE},
	{3, 0x00, 0xff, true, I8},
};

static const struct form *form_of(unsigned map, unsigned opcode)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].map == map && opcode >= forms[i].from && opcode <= forms[i].to)
			return &forms[i];
	return NULL;
}

struct parts {
	uint8_t bytes[32];
	size_t size;
	struct insn insn; /* what is to be read */
};

static void put(struct parts *p, unsigned byte)
{
	p->bytes[p->size++] = (uint8_t)byte;
}

/* Bytes that differ, the highest bit of the last one set or not; the value has four at most. */
static int32_t put_number(struct parts *p, unsigned size, bool negative)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < size; i++) {
		unsigned byte = 0x11 * (i + 1) | (negative && i + 1 == size ? 0x80 : 0);

		put(p, byte);
		if (i < 4)
			value |= byte << 8 * i;
	}
	return size == 1 ? (int8_t)value : (int32_t)value;
}

static void put_modrm(struct parts *p, unsigned rex, unsigned modrm, unsigned sib)
{
	struct insn *insn = &p->insn;
	unsigned mod = modrm >> 6, rm = modrm & 7, r = rex >> 2 & 1, x = rex >> 1 & 1, b = rex & 1;
	bool indexed = mod != 3 && rm == 4;
	unsigned base = indexed ? sib & 7 : rm, index = 8 * x + (sib >> 3 & 7);

	insn->mod = (uint8_t)mod;
	insn->reg = (uint8_t)(8 * r + (modrm >> 3 & 7));
	insn->rm = (uint8_t)(8 * b + base);
	insn->relative = mod == 0 && rm == 5;
	/* a base and no index; a register's number says nothing of addresses */
	insn->simple = !(mod == 0 && base == 5) && (indexed ? index == 4 : !x);
	put(p, modrm);
	if (indexed)
		put(p, sib);
	if (mod == 1)
		insn->displacement = put_number(p, 1, modrm & 1);
	else if (mod == 2 || (mod == 0 && base == 5))
		insn->displacement = put_number(p, 4, modrm & 1);
}

static unsigned size_of(const struct insn *insn, enum operand operand, bool narrow)
{
	switch (operand) {
	case I8:
		return 1;
	case I16:
		return 2;
	case I24:
		return 3;
	case I32:
		return narrow ? 2 : 4;
	case FIXED32:
		return 4;
	case ADDRESS:
		return 8;
	case I64:
		return insn->wide ? 8 : narrow ? 2 : 4;
	case GROUP: /* test has a constant, not, neg, mul... have none */
		return (insn->reg & 7) > 1 ? 0 : insn->opcode == 0xf6 ? 1 : narrow ? 2 : 4;
	default:
		return 0;
	}
}

static struct parts assemble(const struct form *form, unsigned opcode, unsigned rex, bool narrow,
			     bool repeated, unsigned modrm, unsigned sib)
{
	struct parts p = {.insn = {.opcode = (uint8_t)opcode,
				   .map = form->map,
				   .wide = rex & 8,
				   .repeated = repeated,
				   .mod = 3}};

	if (narrow)
		put(&p, 0x66);
	if (repeated)
		put(&p, 0xf3);
	if (rex)
		put(&p, rex);
	if (form->map)
		put(&p, 0x0f);
	if (form->map > 1)
		put(&p, form->map == 2 ? 0x38 : 0x3a);
	put(&p, opcode);
	if (form->modrm)
		put_modrm(&p, rex, modrm, sib);
	else
		p.insn.reg = (uint8_t)((opcode & 7) + 8 * (rex & 1));
	p.insn.immediate_bytes = (uint8_t)size_of(&p.insn, form->operand, narrow);
	p.insn.immediate = put_number(&p, p.insn.immediate_bytes, modrm & 2);
	return p;
}

static void check(const struct parts *p)
{
	const struct insn *want = &p->insn;
	struct insn got;
	bool same;

	assert_true(insn_read(p->bytes, p->bytes + sizeof(p->bytes), &got));
	same = got.next == p->bytes + p->size && got.map == want->map &&
	       got.opcode == want->opcode && got.wide == want->wide &&
	       got.repeated == want->repeated && got.mod == want->mod && got.reg == want->reg &&
	       got.rm == want->rm && got.simple == want->simple && got.relative == want->relative &&
	       got.displacement == want->displacement &&
	       got.immediate_bytes == want->immediate_bytes && got.immediate == want->immediate;
	if (same)
		return;
	for (size_t i = 0; i < p->size; i++)
		printf("%02x ", p->bytes[i]);
	fail_msg("is read as another instruction");
}

static void check_ends(const struct parts *p)
{
	struct insn got;

	assert_true(insn_read(p->bytes, p->bytes + p->size, &got));
	for (size_t size = 0; size < p->size; size++)
		assert_false(insn_read(p->bytes, p->bytes + size, &got));
}

static void check_opcode(const struct form *form, unsigned opcode, unsigned rex)
{
	for (unsigned modrm = 0; modrm < (form->modrm ? 256 : 4); modrm++) {
		bool indexed = form->modrm && modrm < 192 && (modrm & 7) == 4;

		for (unsigned sib = 0; sib < (indexed ? 256 : 1); sib += rex ? 37 : 5)
			for (unsigned prefixes = 0; prefixes < 4; prefixes++) {
				struct parts p = assemble(form, opcode, rex, prefixes & 1,
							  prefixes & 2, modrm, sib);

				check(&p);
				if (modrm % 16 < 8 && opcode % 4 == 1)
					check_ends(&p);
			}
	}
}

static bool is_prefix(unsigned byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
	       (byte >= 0x64 && byte <= 0x67) || byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
}

static bool leads_on(unsigned map, unsigned byte)
{
	if (map)
		return map == 1 && (byte == 0x38 || byte == 0x3a);
	return is_prefix(byte) || (byte >= 0x40 && byte < 0x50) || byte == 0x0f || byte == 0x62 ||
	       byte == 0xc4 || byte == 0xc5;
}

static void test_all(void **state)
{
	(void)state;
	for (unsigned map = 0; map < 4; map++)
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			const struct form *form = form_of(map, opcode);
			uint8_t bytes[16] = {(uint8_t)(map ? 0x0f : opcode), (uint8_t)opcode};
			struct insn insn;

			if (form) {
				check_opcode(form, opcode, 0);
				if (map < 2 || opcode % 16 == 5)
					for (unsigned rex = 0x40; rex < 0x50; rex++)
						check_opcode(form, opcode, rex);
			} else if (!leads_on(map, opcode)) {
				assert_false(insn_read(bytes, bytes + sizeof(bytes), &insn));
			}
		}
}

/* A second REX prefix, or one before a prefix or VEX, is none that programs use. */
static void test_prefixes(void **state)
{
	struct insn insn;

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		uint8_t bytes[16] = {(uint8_t)byte, 0x90}, behind[16] = {0x48, (uint8_t)byte, 0x90};

		if (is_prefix(byte)) {
			assert_true(insn_read(bytes, bytes + 16, &insn));
			assert_ptr_equal(insn.next, bytes + 2);
			assert_int_equal(insn.opcode, 0x90);
			assert_int_equal(insn.repeated, byte == 0xf3);
		}
		if (is_prefix(byte) || (byte >= 0x40 && byte < 0x50))
			assert_false(insn_read(behind, behind + 16, &insn));
	}
}

/* 15 bytes are the most. */
static void test_longest(void **state)
{
	uint8_t bytes[32];
	struct insn insn;

	(void)state;
	for (unsigned prefixes = 0; prefixes < 20; prefixes++) {
		memset(bytes, 0x2e, prefixes);
		memcpy(bytes + prefixes, "\x05\1\2\3\4", 5);
		assert_int_equal(insn_read(bytes, bytes + sizeof(bytes), &insn), prefixes <= 10);
	}
}

static void check_vex(const char *text, size_t size, unsigned map, unsigned opcode, bool byte)
{
	for (unsigned modrm = 0; modrm < 256; modrm += 3) {
		struct parts p = {.insn = {.map = (uint8_t)map, .opcode = (uint8_t)opcode}};

		memcpy(p.bytes, text, size);
		p.size = size;
		put_modrm(&p, 0, modrm, 0x63);
		p.insn.immediate_bytes = byte;
		p.insn.immediate = put_number(&p, byte, true);
		check(&p);
		check_ends(&p);
	}
}

#define VEX(text, map, opcode, byte) check_vex(text, sizeof(text) - 1, map, opcode, byte)

static void test_vex(void **state)
{
	uint8_t bytes[16] = {0};
	struct insn insn;

	(void)state;
	VEX("\xc5\xf8\x58", 17, 0x58, false);
	VEX("\xc5\xf8\xc2", 17, 0xc2, true);
	VEX("\xc4\xe1\x78\x58", 17, 0x58, false);
	VEX("\xc4\xe2\x78\x58", 18, 0x58, false);
	VEX("\xc4\xe3\x78\x58", 19, 0x58, true);
	VEX("\x62\xf1\x7c\x48\x58", 17, 0x58, false);
	VEX("\x62\xf2\x7c\x48\x58", 18, 0x58, false);
	VEX("\x62\xf3\x7c\x48\x58", 19, 0x58, true);
	VEX("\x62\xf5\x7c\x48\x58", 21, 0x58, false);
	memcpy(bytes, "\xc4\xe0\x78\x58", 4); /* no map 0 */
	assert_false(insn_read(bytes, bytes + sizeof(bytes), &insn));
	memcpy(bytes, "\xc5\xf8\x77\x90", 4); /* vzeroupper */
	assert_true(insn_read(bytes, bytes + sizeof(bytes), &insn));
	assert_ptr_equal(insn.next, bytes + 3);
}

static enum insn_flow flow(unsigned map, unsigned opcode, unsigned modrm)
{
	if (map == 1 && opcode >= 0x80 && opcode <= 0x8f)
		return FLOW_BRANCH;
	if (map == 1)
		return opcode == 0x0b || opcode == 0xb9 || opcode == 0xff ? FLOW_STOP : FLOW_ON;
	if (map)
		return FLOW_ON;
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
		return FLOW_BRANCH;
	if (opcode == 0xe9 || opcode == 0xeb)
		return FLOW_JUMP;
	if (opcode == 0xe8)
		return FLOW_CALL;
	if (opcode == 0xc3)
		return FLOW_RETURN;
	if (opcode == 0xc2 || (opcode >= 0xca && opcode <= 0xcc) || opcode == 0xcf ||
	    opcode == 0xf4)
		return FLOW_STOP;
	if (opcode == 0xff) {
		static const enum insn_flow group[] = {FLOW_ON,	  FLOW_ON,   FLOW_CALL, FLOW_CALL,
						       FLOW_AWAY, FLOW_AWAY, FLOW_ON,	FLOW_ON};
		enum insn_flow of = group[modrm >> 3 & 7];

		return of == FLOW_AWAY && (modrm & 0xc7) == 5 ? FLOW_AWAY_STATIC : of;
	}
	return FLOW_ON;
}

static void test_flow(void **state)
{
	uint8_t begin[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct insn insn;

	(void)state;
	for (unsigned map = 0; map < 4; map++)
		for (unsigned opcode = 0; opcode < 256; opcode++)
			for (unsigned modrm = 0; form_of(map, opcode) && modrm < 256; modrm++) {
				struct parts p = assemble(form_of(map, opcode), opcode, 0, false,
							  false, modrm, 0x24);
				bool filling = map ? map == 1 && opcode == 0x1f
						   : opcode == 0x90 || opcode == 0xcc;

				assert_true(insn_read(p.bytes, p.bytes + p.size, &insn));
				assert_int_equal(insn_flow(&insn), flow(map, opcode, modrm));
				assert_int_equal(insn_is_padding(&insn), filling);
			}
	for (unsigned modrm = 0; modrm < 256; modrm++) { /* endbr64 */
		struct parts p = assemble(form_of(1, 0x1e), 0x1e, 0, false, true, modrm, 0x24);

		assert_true(insn_read(p.bytes, p.bytes + p.size, &insn));
		assert_int_equal(insn_flow(&insn), modrm == 0xfa ? FLOW_BEGIN : FLOW_ON);
	}
	assert_true(insn_read(begin, begin + sizeof(begin), &insn));
	assert_int_equal(insn_flow(&insn), FLOW_BEGIN);
	for (unsigned map = 16; map < 24; map++) /* nothing with VEX leads elsewhere */
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			insn = (struct insn){.map = (uint8_t)map, .opcode = (uint8_t)opcode};
			assert_int_equal(insn_flow(&insn), FLOW_ON);
			assert_false(insn_is_padding(&insn));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_longest), cmocka_unit_test(test_vex),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
