/* What instructions of x86-64 change, for every opcode and ModRM byte, against tables in the order
 * of Intel's manual (volume 2, appendix A); and where sp and fp are behind short sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/arch/x86_64/effect.h"
#include "agent/unwind/arch/x86_64/height.h"
#include "tests/unit/unwind/hex.h"

/*
 * Registers that are written:
 *
 *   0  none                 r R  the register, a byte of it   x X  both, bytes of both
 *   a  rax, d rdx           m M  the operand, if a register   A    a byte of it, and rax
 *   g G  as m M, but cmp    u U  test, not, neg, mul...       C    as M: only mov
 *   i    inc and dec; I  also call, jump, push                n    nop, or exchanges
 *   e    hint, or endbr64   else not known
 */
static const char written[2][257] = {
	"MmRraa  MmRraa  MmRraa  MmRraa  MmRraa  MmRraa  MmRraa  000000  "
	"                00000000rrrrrrrr   r    0r0r                    "
	"Gg g00XxMmRr r  n       ad              00      RRRRRRRRrrrrrrrr"
	"Mm    CC        MmMm                                  Uu      iI",
	"             0  00    000     e0        00                      "
	"rrrrrrrrrrrrrrrr       0                    0 00               0"
	"                MMMMMMMMMMMMMMMM   0           rAA    rr    rrrr"
	"XX      rrrrrrrr      0                        0                ",
};

/* Memory: . never, m if the operand is memory, ! always; g but cmp; u not and neg. */
static const char stores[257] = "mm....  mm....  mm....  mm....  mm....  mm....  mm....  ......  "
				"                ................   .    ....    ................"
				"gg g..mmmm..m. m.......... .....  !!!!!!..!!    ................"
				"mm    mm .      mmmmmmmmmmmmmmmm                      uu      mm";

static uint32_t bit(unsigned reg)
{
	return 1u << reg;
}

/* ah to bh are bytes of the first four. */
static uint32_t byte_bits(unsigned reg)
{
	return bit(reg) | bit(reg % 4);
}

#define UNKNOWN INT64_C(-1)

/* What the letter means. */
static int64_t expected(char letter, unsigned reg, unsigned rm, bool memory)
{
	uint32_t to_rm = memory ? 0 : bit(rm), to_byte = memory ? 0 : byte_bits(rm);
	unsigned which = reg % 8;

	switch (letter) {
	case '0':
		return 0;
	case 'r':
		return bit(reg);
	case 'R':
		return byte_bits(reg);
	case 'x':
		return bit(reg) | to_rm;
	case 'X':
		return byte_bits(reg) | to_byte;
	case 'a':
		return bit(0);
	case 'd':
		return bit(2);
	case 'm':
		return to_rm;
	case 'M':
		return to_byte;
	case 'A':
		return to_byte | bit(0);
	case 'g':
		return which == 7 ? 0 : to_rm;
	case 'G':
		return which == 7 ? 0 : to_byte;
	case 'u':
	case 'U':
		if (which < 2)
			return 0;
		return which > 3 ? bit(0) | bit(2) : letter == 'u' ? to_rm : to_byte;
	case 'C': /* other numbers are none, or transactions */
		return which ? UNKNOWN : to_byte;
	case 'i':
		return which > 1 ? UNKNOWN : to_byte;
	case 'I':
		return which == 6 ? 0 : which > 1 ? UNKNOWN : to_rm;
	case 'n':
		return reg ? bit(reg) | bit(0) : 0;
	case 'e':
		return memory ? 0 : UNKNOWN;
	default:
		return UNKNOWN;
	}
}

static bool keeps_flags(unsigned map, unsigned op)
{
	static const uint8_t two[] = {0x1e, 0x1f, 0x28, 0x29, 0xb6, 0xb7, 0xbe, 0xbf};

	if (map)
		return (op >= 0x40 && op <= 0x4f) || memchr(two, (int)op, sizeof(two));
	return (op >= 0x50 && op <= 0x5f) || (op >= 0x88 && op <= 0x8d) || op == 0x90 ||
	       (op >= 0xb0 && op <= 0xbf) || op == 0xc6 || op == 0xc7;
}

static bool writes_memory(unsigned map, unsigned op, const struct insn *insn)
{
	static const uint8_t none[] = {0x1e, 0x1f, 0x28, 0x6f, 0xb6, 0xb7, 0xbe, 0xbf, 0xef};
	unsigned which = insn->reg % 8;

	if (map) /* true if in doubt */
		return (op < 0x40 || op > 0x4f) && !memchr(none, (int)op, sizeof(none));
	switch (stores[op]) {
	case '!':
		return true;
	case 'm':
		return insn->mod != 3;
	case 'g':
		return insn->mod != 3 && which != 7;
	case 'u':
		return insn->mod != 3 && (which == 2 || which == 3);
	default:
		return false;
	}
}

static void check(unsigned map, unsigned op, unsigned rex, unsigned modrm)
{
	uint8_t bytes[16] = {(uint8_t)rex, (uint8_t)(map ? 0x0f : op), (uint8_t)(map ? op : modrm),
			     (uint8_t)modrm};
	struct insn insn;
	int64_t want;
	uint32_t got = 0xdead;

	if (op == 0x0f || (map && (op == 0x38 || op == 0x3a)) ||
	    !insn_read(bytes, bytes + 16, &insn))
		return;
	want = expected(written[map][op], insn.reg, insn.rm, insn.mod != 3);
	if (effect_registers(&insn, &got) != (want >= 0) || (want >= 0 && got != want))
		fail_msg("%02x %02x %02x: registers %#x, not %#llx", bytes[0], bytes[1], bytes[2],
			 got, (long long)want);
	if (effect_keeps_flags(&insn) != keeps_flags(map, op))
		fail_msg("%02x %02x: flags", bytes[1], bytes[2]);
	if ((map || stores[op] != ' ') && effect_stores(&insn) != writes_memory(map, op, &insn))
		fail_msg("%02x %02x %02x: memory", bytes[1], bytes[2], bytes[3]);
}

static void test_opcodes(void **state)
{
	(void)state;
	for (unsigned map = 0; map < 2; map++)
		for (unsigned op = 0; op < 256; op++)
			for (unsigned rex = 0x40; rex < 0x50; rex++)
				for (unsigned modrm = 0; modrm < 256; modrm++)
					check(map, op, rex, modrm);
}

/* Of other maps, and with VEX, nothing is known. */
static void test_other_maps(void **state)
{
	uint32_t registers;

	(void)state;
	for (unsigned map = 2; map < 32; map++)
		for (unsigned op = 0; op < 256; op++) {
			struct insn insn = {.map = (uint8_t)map, .opcode = (uint8_t)op, .mod = 3};

			assert_false(effect_registers(&insn, &registers));
			assert_true(effect_stores(&insn));
			assert_false(effect_keeps_flags(&insn));
		}
}

static void test_begin_of_function(void **state)
{
	uint8_t bytes[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint32_t registers = 1;
	struct insn insn;

	(void)state;
	assert_true(insn_read(bytes, bytes + sizeof(bytes), &insn));
	assert_true(effect_registers(&insn, &registers));
	assert_int_equal(registers, 0);
}

/* ---- where sp and fp are ---- */

#define S(n)                                                                                       \
	{                                                                                          \
		.base = BASE_SP, .offset = (n)                                                     \
	}
#define F(n)                                                                                       \
	{                                                                                          \
		.base = BASE_FP, .offset = (n)                                                     \
	}
#define IN_S(n)                                                                                    \
	{                                                                                          \
		.base = BASE_SP, .offset = (n), .stored = true                                     \
	}
#define IN_F(n)                                                                                    \
	{                                                                                          \
		.base = BASE_FP, .offset = (n), .stored = true                                     \
	}
#define LOST                                                                                       \
	{                                                                                          \
		.base = BASE_NONE                                                                  \
	}
#define REACH (1 << 24)

static const struct {
	const char *code;
	struct place sp, fp;
	struct place pushed;
	int32_t pushed_at;
} sequences[] = {
	{"", S(0), F(0), LOST, 0},
	{"53", S(-8), F(0), LOST, 0}, /* pushes */
	{"41 55", S(-8), F(0), LOST, 0},
	{"55", S(-8), F(0), F(0), -8},
	{"55 55", S(-16), F(0), F(0), -8},
	{"53 55 53", S(-24), F(0), F(0), -16},
	{"5b", S(8), F(0), LOST, 0}, /* pops */
	{"41 5c", S(8), F(0), LOST, 0},
	{"5c", LOST, F(0), LOST, 0},
	{"5d", S(8), IN_S(0), LOST, 0},
	{"55 5d", S(0), F(0), LOST, 0},
	{"55 53 5d", S(-8), IN_S(-16), F(0), -8},
	{"55 5d 55", S(-8), F(0), F(0), -8},
	{"55 48 89 e5 5d", S(0), F(0), LOST, 0},
	{"48 89 ec 5d", F(8), IN_F(0), LOST, 0},
	{"55 48 89 e5", S(-8), S(-8), F(0), -8}, /* copies */
	{"55 48 8b ec", S(-8), S(-8), F(0), -8},
	{"48 89 ec", F(0), F(0), LOST, 0},
	{"48 8b e5", F(0), F(0), LOST, 0},
	{"5d 48 89 ec", LOST, IN_S(0), LOST, 0},
	{"48 89 c4", LOST, F(0), LOST, 0},
	{"48 89 c5", S(0), LOST, LOST, 0},
	{"48 8b e8", S(0), LOST, LOST, 0},
	{"48 89 e0", S(0), F(0), LOST, 0},
	{"49 89 e4", S(0), F(0), LOST, 0},
	{"48 89 6c 24 f8", S(0), F(0), F(0), -8}, /* stores */
	{"48 89 6c 24 10", S(0), F(0), F(0), 16},
	{"48 89 5c 24 f8", S(0), F(0), LOST, 0},
	{"48 89 6d f8", S(0), F(0), LOST, 0},
	{"48 89 6c 04 f8", S(0), F(0), LOST, 0},
	{"48 89 2d 00 00 00 00", S(0), F(0), LOST, 0},
	{"48 89 e5 48 89 6c 24 f0", S(0), S(0), LOST, 0},
	{"5d 48 89 6c 24 f0", S(8), IN_S(0), LOST, 0},
	{"48 8b 6c 24 10", S(0), IN_S(16), LOST, 0}, /* loads */
	{"48 8b 6d 08", S(0), IN_F(8), LOST, 0},
	{"48 8b 64 24 10", LOST, F(0), LOST, 0},
	{"48 8b 44 24 10", S(0), F(0), LOST, 0},
	{"48 8b 6c 04 10", S(0), LOST, LOST, 0},
	{"5d 48 8b 6d 00", S(8), LOST, LOST, 0},
	{"48 8d 6c 24 10", S(0), S(16), LOST, 0}, /* addresses */
	{"48 8d 64 24 f8", S(-8), F(0), LOST, 0},
	{"48 8d 65 f0", F(-16), F(0), LOST, 0},
	{"48 8d 44 24 08", S(0), F(0), LOST, 0},
	{"48 8d 2d 00 00 00 00", S(0), LOST, LOST, 0},
	{"48 8d 6c 04 10", S(0), LOST, LOST, 0},
	{"48 8d 64 04 10", LOST, F(0), LOST, 0},
	{"5d 48 8d 65 08", LOST, IN_S(0), LOST, 0},
	{"48 83 ec 20", S(-32), F(0), LOST, 0}, /* constants */
	{"48 83 c4 20", S(32), F(0), LOST, 0},
	{"48 83 ec 80", S(128), F(0), LOST, 0},
	{"48 83 c4 80", S(-128), F(0), LOST, 0},
	{"48 81 ec 00 10 00 00", S(-4096), F(0), LOST, 0},
	{"48 81 c4 00 10 00 00", S(4096), F(0), LOST, 0},
	{"48 83 cc 20", LOST, F(0), LOST, 0},
	{"48 83 d4 20", LOST, F(0), LOST, 0},
	{"48 83 dc 20", LOST, F(0), LOST, 0},
	{"48 83 e4 f0", LOST, F(0), LOST, 0},
	{"48 83 f4 20", LOST, F(0), LOST, 0},
	{"48 83 fc 20", S(0), F(0), LOST, 0},
	{"48 83 2c 24 01", S(0), F(0), LOST, 0},
	{"48 83 c0 20", S(0), F(0), LOST, 0},
	{"49 83 c4 20", S(0), F(0), LOST, 0},
	{"48 81 ec 00 00 00 01", S(-REACH), F(0), LOST, 0}, /* too far */
	{"48 81 ec 01 00 00 01", LOST, F(0), LOST, 0},
	{"48 81 c4 00 00 00 01", S(REACH), F(0), LOST, 0},
	{"48 81 c4 01 00 00 01", LOST, F(0), LOST, 0},
	{"48 81 ec 00 00 00 80", LOST, F(0), LOST, 0},
	{"48 81 c4 00 00 00 80", LOST, F(0), LOST, 0},
	{"48 81 ec 00 00 00 01 53", S(-REACH - 8), F(0), LOST, 0},
	{"48 81 ec 00 00 00 01 53 53", LOST, F(0), LOST, 0},
	{"48 81 c4 00 00 00 01 5b", S(REACH + 8), F(0), LOST, 0},
	{"48 81 c4 00 00 00 01 5b 5b", LOST, F(0), LOST, 0},
	{"48 01 c4", LOST, F(0), LOST, 0}, /* registers */
	{"48 21 c4", LOST, F(0), LOST, 0},
	{"48 29 c4", LOST, F(0), LOST, 0},
	{"48 01 e0", S(0), F(0), LOST, 0},
	{"48 21 04 24", S(0), F(0), LOST, 0},
	{"48 03 e0", LOST, F(0), LOST, 0},
	{"48 23 e0", LOST, F(0), LOST, 0},
	{"48 2b e0", LOST, F(0), LOST, 0},
	{"48 2b 24 24", LOST, F(0), LOST, 0},
	{"48 03 c4", S(0), F(0), LOST, 0},
	{"68 01 02 03 04", S(-8), F(0), LOST, 0}, /* other pushes and pops */
	{"6a 01", S(-8), F(0), LOST, 0},
	{"9c", S(-8), F(0), LOST, 0},
	{"9d", S(8), F(0), LOST, 0},
	{"8f 00", S(8), F(0), LOST, 0},
	{"ff 30", S(-8), F(0), LOST, 0},
	{"ff 00", S(0), F(0), LOST, 0},
	{"c8 10 00 00", S(-24), S(-8), F(0), -8}, /* enter, leave */
	{"c8 ff ff 00", S(-8 - 65535), S(-8), F(0), -8},
	{"c8 10 00 01", LOST, S(-8), F(0), -8},
	{"c8 10 00 00 c9", S(0), F(0), LOST, 0},
	{"55 48 89 e5 48 83 ec 20 c9", S(0), F(0), LOST, 0},
	{"c9", F(8), IN_F(0), LOST, 0},
	{"90", S(0), F(0), LOST, 0}, /* nothing */
	{"0f 58 e4", S(0), F(0), LOST, 0},
	{"0f 38 89 e4", S(0), F(0), LOST, 0},
	{"c5 f8 58 e4", S(0), F(0), LOST, 0},
};

static bool is_same(struct place a, struct place b)
{
	return a.base == b.base && (!a.base || (a.offset == b.offset && a.stored == b.stored));
}

static void test_sequences(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		uint8_t code[32];
		const uint8_t *at = code, *end = code + bytes_of(sequences[i].code, code);
		struct height h = height_begin();
		struct insn insn;

		for (; at < end; at = insn.next) {
			assert_true(insn_read(at, end, &insn));
			height_apply(&h, &insn);
		}
		if (!is_same(h.sp, sequences[i].sp) || !is_same(h.fp, sequences[i].fp) ||
		    !is_same(h.pushed, sequences[i].pushed) ||
		    (h.pushed.base && h.pushed_at != sequences[i].pushed_at))
			fail_msg("%s: sp %d%+d, fp %d%+d%s, pushed %d%+d at %d", sequences[i].code,
				 h.sp.base, h.sp.offset, h.fp.base, h.fp.offset,
				 h.fp.stored ? " stored" : "", h.pushed.base, h.pushed.offset,
				 h.pushed_at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_other_maps),
		cmocka_unit_test(test_begin_of_function),
		cmocka_unit_test(test_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
