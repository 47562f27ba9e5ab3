/* Instructions of MIPS64, as its assembler makes them: which question each of them answers. */
#include "agent/unwind/arch/mips64/insn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
	CALLS = 1,
	CALLS_COMPACT = 2,
	JUMPS = 4,
	ALWAYS = 8,
	BRANCHES = 16,
	MOVES_SP_BY = 32,
	COPIES_SP_TO_FP = 64,
	STORES_RA = 128,
	LOADS_RA = 256,
};

static const struct {
	uint32_t word;
	unsigned answers;
	int32_t moves_sp;
	const char *text;
} insns[] = {
	{0x0c000400, CALLS, 0, "jal"},
	{0x08000400, 0, 0, "j"},
	{0x0320f809, CALLS, 0, "jalr t9"},
	{0x0320fc09, CALLS, 0, "jalr.hb t9"},
	{0x0320c809, 0, 0, "jalr t9, t9"},
	{0x0320f808, 0, 0, "jr with a destination"},
	{0x04110010, CALLS, 0, "bal"},
	{0x04500010, CALLS, 0, "bltzal v0"},
	{0x04510010, CALLS, 0, "bgezal v0"},
	{0x04520010, CALLS, 0, "bltzall v0"},
	{0x04530010, CALLS, 0, "bgezall v0"},
	{0x04400010, BRANCHES, 0, "bltz v0"},
	{0x04410010, BRANCHES, 0, "bgez v0"},
	{0x04420010, BRANCHES, 0, "bltzl v0"},
	{0x04430010, BRANCHES, 0, "bgezl v0"},
	{0x04480010, 0, 0, "tgei v0"},
	{0x044c0010, 0, 0, "teqi v0"},
	{0x04540010, 0, 0, "REGIMM 0x14"},
	{0x04580010, 0, 0, "REGIMM 0x18"},
	{0x045f0010, 0, 0, "synci"},
	{0xe8000010, CALLS_COMPACT, 0, "balc"},
	{0xc8000010, 0, 0, "bc"},
	{0xf8190000, CALLS_COMPACT, 0, "jialc t9"},
	{0xf8400010, 0, 0, "bnezc v0"},
	{0xfa000010, 0, 0, "bnezc s0"},
	{0xd8190000, 0, 0, "jic t9"},
	{0x10000010, ALWAYS | BRANCHES, 0, "b"},
	{0x10400010, BRANCHES, 0, "beqz v0"},
	{0x10010010, BRANCHES, 0, "beq zero, at"},
	{0x14400010, BRANCHES, 0, "bnez v0"},
	{0x18400010, BRANCHES, 0, "blez v0"},
	{0x1c400010, BRANCHES, 0, "bgtz v0"},
	{0x20400010, 0, 0, "addi"},
	{0x50400010, BRANCHES, 0, "beqzl v0"},
	{0x5c400010, BRANCHES, 0, "bgtzl v0"},
	{0x4c400010, 0, 0, "COP1X"},
	{0x60400010, 0, 0, "daddi"},
	{0x45000010, BRANCHES, 0, "bc1f"},
	{0x45010010, BRANCHES, 0, "bc1t"},
	{0x45200010, 0, 0, "bc1any2f"},
	{0x47000010, 0, 0, "COP1 of a vector"},
	{0x44020000, 0, 0, "mfc1"},
	{0x67bdffe0, 0, -32, "daddiu sp, sp, -32"},
	{0x67bd7ff0, 0, 32752, "daddiu sp, sp, 32752"},
	{0x67be0020, 0, 0, "daddiu fp, sp, 32"},
	{0x67dd0020, 0, 0, "daddiu sp, fp, 32"},
	{0x27bdffe0, 0, 0, "addiu sp, sp, -32"},
	{0x03ace82d, MOVES_SP_BY, 0, "daddu sp, sp, t0"},
	{0x03ace82f, MOVES_SP_BY, 0, "dsubu sp, sp, t0"},
	{0x03ace82c, 0, 0, "dadd sp, sp, t0"},
	{0x03acf02d, 0, 0, "daddu fp, sp, t0"},
	{0x03cce82d, 0, 0, "daddu sp, fp, t0"},
	{0x03a0f02d, COPIES_SP_TO_FP, 0, "move fp, sp, by daddu"},
	{0x03a0f025, COPIES_SP_TO_FP, 0, "move fp, sp, by or"},
	{0x03a0f024, 0, 0, "and fp, sp, zero"},
	{0x03c0e825, 0, 0, "move sp, fp"},
	{0xffbf0008, STORES_RA, 0, "sd ra, 8(sp)"},
	{0xffbe0008, 0, 0, "sd fp, 8(sp)"},
	{0xffdf0008, 0, 0, "sd ra, 8(fp)"},
	{0xdfbf0008, LOADS_RA, 0, "ld ra, 8(sp)"},
	{0xdfbe0008, 0, 0, "ld fp, 8(sp)"},
	{0xdfdf0008, 0, 0, "ld ra, 8(fp)"},
	{0x03e00008, JUMPS, 0, "jr ra"},
	{0x03e00408, JUMPS, 0, "jr.hb ra"},
	{0x03e00009, JUMPS, 0, "jr ra of release 6"},
	{0x03e10008, 0, 0, "jr with a second register"},
	{0x00000000, 0, 0, "nop"},
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		uint32_t word = insns[i].word;
		unsigned rs = 0, got = 0;

		got |= insn_is_call(word) ? CALLS : 0;
		got |= insn_is_compact_call(word) ? CALLS_COMPACT : 0;
		got |= insn_jumps_to(word, &rs) ? JUMPS : 0;
		got |= insn_always_branches(word) ? ALWAYS : 0;
		got |= insn_branches(word) ? BRANCHES : 0;
		got |= insn_moves_sp_by(word) ? MOVES_SP_BY : 0;
		got |= insn_copies(word, INSN_FP, INSN_SP) ? COPIES_SP_TO_FP : 0;
		got |= insn_stores(word, INSN_RA) ? STORES_RA : 0;
		got |= insn_loads(word, INSN_RA) ? LOADS_RA : 0;
		if (got != insns[i].answers || insn_moves_sp(word) != insns[i].moves_sp)
			fail_msg("%s: %#x and %d", insns[i].text, got, insn_moves_sp(word));
		if (got & JUMPS)
			assert_int_equal(rs, INSN_RA);
	}
}

/* Each field has all of its bits and no others. */
static void test_fields(void **state)
{
	const uint32_t word = 0xffffffff;

	(void)state;
	assert_int_equal(insn_op(word), 63);
	assert_int_equal(insn_rs(word), 31);
	assert_int_equal(insn_rt(word), 31);
	assert_int_equal(insn_rd(word), 31);
	assert_int_equal(insn_immediate(word), -1);
	assert_int_equal(insn_immediate(0xffff8000), -32768);
	assert_int_equal(insn_immediate(0xffff7fff), 32767);
	for (unsigned i = 0; i < 32; i++) {
		assert_int_equal(insn_rs(i << 21), i);
		assert_int_equal(insn_rt(i << 16), i);
		assert_int_equal(insn_rd(i << 11), i);
		assert_int_equal(insn_rs(~(31u << 21)), 0);
		assert_int_equal(insn_rt(~(31u << 16)), 0);
		assert_int_equal(insn_rd(~(31u << 11)), 0);
	}
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(insn_op(i << 26), i);
		assert_int_equal(insn_is_special(i, 9), i == 9);
		assert_int_equal(insn_is_special(9 | i << 26, 9), i == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
