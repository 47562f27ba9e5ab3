/* Rules that become rows, each with its numbers at and beyond what a row holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/compile.h"

#define EXPRESSION    64  /* where that of the cfa lies in the "module" */
#define FP_EXPRESSION 128 /* that of fp */
#define RBX	      3

static uint8_t image[256];
static const struct unwind_module module = {.load_start = (uintptr_t)image,
					    .load_end = (uintptr_t)image + sizeof(image)};

static struct cfi_rules rules_of(unsigned reg, int32_t offset, struct cfi_rule ra,
				 struct cfi_rule fp)
{
	struct cfi_rules rules = {.cfa = {CFI_VAL_OFFSET, offset}, .cfa_register = (uint8_t)reg};

	rules.registers[ARCH_REG_RA] = ra;
	rules.registers[ARCH_REG_FP] = fp;
	return rules;
}

#define SAVED(at) ((struct cfi_rule){CFI_OFFSET, (at)})
#define KEPT	  ((struct cfi_rule){CFI_SAME, 0})

static void expect_plain(unsigned reg, int32_t offset, struct cfi_rule fp, uint64_t fp_at)
{
	struct cfi_rules rules = rules_of(reg, offset, SAVED(-8), fp);
	uint32_t row = row_compile(&module, &rules);

	assert_true(row_is_plain(row));
	assert_int_equal(row_type(row), reg == ARCH_REG_FP ? ROW_FP : ROW_SP);
	assert_int_equal(row_cfa(row), offset);
	assert_int_equal(row_ra(row), 8);
	assert_int_equal(row_keeps_fp(row), !fp_at);
	if (fp_at)
		assert_int_equal(row_fp(row), fp_at);
}

static void expect_general(const struct cfi_rules *rules)
{
	assert_int_equal(row_compile(&module, rules), row_special(ROW_GENERAL, 0));
}

static void expect_none(unsigned reg, int32_t offset, struct cfi_rule ra, struct cfi_rule fp)
{
	struct cfi_rules rules = rules_of(reg, offset, ra, fp);

	expect_general(&rules);
}

static void test_plain(void **state)
{
	(void)state;
	for (unsigned by_fp = 0; by_fp < 2; by_fp++) {
		unsigned reg = by_fp ? ARCH_REG_FP : ARCH_REG_SP;

		expect_plain(reg, 8, KEPT, 0);
		expect_plain(reg, 16, (struct cfi_rule){CFI_UNDEFINED, 0}, 0);
		expect_plain(reg, 16, SAVED(-16), 16);
		expect_plain(reg, 8 * ROW_CFA_MAX, KEPT, 0);
		expect_plain(reg, 8 * ROW_CFA_MAX, SAVED(-8 * (int32_t)ROW_FP_MAX), 8 * ROW_FP_MAX);
		expect_none(reg, 8 * (ROW_CFA_MAX + 1), SAVED(-8), KEPT);
		expect_none(reg, 8 * ROW_CFA_MAX, SAVED(-8), SAVED(-8 * (int32_t)ROW_FP_MAX - 8));
		expect_none(reg, 0, SAVED(-8), KEPT);
		expect_none(reg, -8, SAVED(-8), KEPT);
		expect_none(reg, 12, SAVED(-8), KEPT);
		expect_none(reg, 16, SAVED(-16), KEPT);
		expect_none(reg, 16, SAVED(-4), KEPT);
		expect_none(reg, 16, SAVED(0), KEPT);
		expect_none(reg, 16, SAVED(8), KEPT);
		expect_none(reg, 16, KEPT, KEPT);
		expect_none(reg, 16, (struct cfi_rule){CFI_VAL_OFFSET, -8}, KEPT);
		expect_none(reg, 16, SAVED(-8), SAVED(-8));
		expect_none(reg, 16, SAVED(-8), SAVED(-12));
		expect_none(reg, 16, SAVED(-8), SAVED(0));
		expect_none(reg, 16, SAVED(-8), SAVED(16));
		expect_none(reg, 16, SAVED(-8), (struct cfi_rule){CFI_VAL_OFFSET, -16});
		expect_none(reg, 16, SAVED(-8), (struct cfi_rule){CFI_REGISTER, RBX});
	}
	expect_none(RBX, 16, SAVED(-8), KEPT);
	/* in the red zone of sp, but not of fp */
	expect_none(ARCH_REG_SP, 16, SAVED(-8), SAVED(-24));
	expect_plain(ARCH_REG_FP, 16, SAVED(-24), 24);
}

static void test_others(void **state)
{
	struct cfi_rules rules = rules_of(ARCH_REG_SP, 16, SAVED(-8), KEPT);

	(void)state;
	rules.registers[ARCH_REG_SP] = SAVED(-16);
	expect_general(&rules);
	rules.registers[ARCH_REG_RA] = (struct cfi_rule){CFI_UNDEFINED, 0};
	assert_int_equal(row_compile(&module, &rules), row_special(ROW_END, END_CERTAIN));
}

/* An expression of this length, or of another one if it is said. */
static void put(unsigned at, const char *code, size_t size)
{
	image[at] = (uint8_t)size;
	memset(image + at + 1, 0x96, 60);
	memcpy(image + at + 1, code, size);
}

static uint32_t compiled(const char *code, size_t size, struct cfi_rule fp)
{
	struct cfi_rules rules = rules_of(0, 0, SAVED(-8), fp);

	rules.cfa = (struct cfi_rule){CFI_EXPRESSION, EXPRESSION};
	put(EXPRESSION, code, size);
	return row_compile(&module, &rules);
}

static void expect(const char *code, size_t size, struct cfi_rule fp, uint32_t row)
{
	static const struct cfi_rule not_next[] = {
		{CFI_OFFSET, -16}, {CFI_SAME, 0}, {CFI_OFFSET, -4}, {CFI_VAL_OFFSET, -8}};
	const uint32_t general = row_special(ROW_GENERAL, 0);

	assert_int_equal(compiled(code, size, fp), row);
	if (row == general)
		return;
	for (size_t less = 0; less < size; less++) /* a plus at its end can be left out */
		assert_true(compiled(code, less, fp) == general || code[less] == 0x23);
	for (size_t i = 0; i < 4; i++) { /* the return address lies elsewhere */
		struct cfi_rules rules = rules_of(0, 0, not_next[i], fp);

		rules.cfa = (struct cfi_rule){CFI_EXPRESSION, EXPRESSION};
		put(EXPRESSION, code, size);
		expect_general(&rules);
	}
}

#define CODE(text) text, sizeof(text) - 1
#define NONE	   row_special(ROW_GENERAL, 0)
#define BREG_FP	   "\x76"
#define BREG_SP	   "\x77"

/* *(fp + n), where *fp is fp. */
static void test_deref_fp(void **state)
{
	const struct cfi_rule fp = {CFI_EXPRESSION, FP_EXPRESSION};
	static const struct {
		const char *code;
		size_t size;
	} wrong[] = {{CODE(BREG_FP "\x08")},
		     {CODE(BREG_SP "\0")},
		     {CODE(BREG_FP "\0\x96")},
		     {CODE(BREG_FP)},
		     {CODE("")}};

	(void)state;
	put(FP_EXPRESSION, CODE(BREG_FP "\0"));
	expect(CODE(BREG_FP "\x78\x06"), fp, row_deref_fp(-1));
	expect(CODE(BREG_FP "\x08\x06"), fp, row_deref_fp(1));
	expect(CODE(BREG_FP "\x80\x60\x06"), fp, row_deref_fp(-512));
	expect(CODE(BREG_FP "\x80\x20\x06"), fp, row_deref_fp(512));
	expect(CODE(BREG_FP "\xf8\x5f\x06"), fp, NONE);
	expect(CODE(BREG_FP "\x88\x20\x06"), fp, NONE);
	expect(CODE(BREG_FP "\x7c\x06"), fp, NONE);
	expect(CODE(BREG_FP "\x78\x12"), fp, NONE);
	expect(CODE(BREG_FP "\x78\x06\x96"), fp, NONE);
	expect(CODE(BREG_FP "\x78\x06"), KEPT, NONE);
	expect(CODE(BREG_FP "\x78\x06"), (struct cfi_rule){CFI_VAL_EXPRESSION, FP_EXPRESSION},
	       NONE);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put(FP_EXPRESSION, wrong[i].code, wrong[i].size);
		expect(CODE(BREG_FP "\x78\x06"), fp, NONE);
	}
	put(FP_EXPRESSION, CODE(BREG_FP "\0"));
	image[FP_EXPRESSION] = 200; /* longer than the module */
	expect(CODE(BREG_FP "\x78\x06"), fp, NONE);
}

/* *(sp + n) + m */
static void test_deref_sp(void **state)
{
	(void)state;
	expect(CODE(BREG_SP "\x08\x06"), KEPT, row_deref_sp(1, 0, 0));
	expect(CODE(BREG_SP "\0\x06\x23\x08"), KEPT, row_deref_sp(0, 1, 0));
	expect(CODE(BREG_SP "\x08\x06\x23\x10"), SAVED(-16), row_deref_sp(1, 2, 2));
	expect(CODE(BREG_SP "\xf8\x3f\x06\x23\xf8\x01"), SAVED(-504), row_deref_sp(1023, 31, 63));
	expect(CODE(BREG_SP "\x80\xc0\0\x06"), KEPT, NONE);	  /* 1024 words */
	expect(CODE(BREG_SP "\x08\x06\x23\x80\x02"), KEPT, NONE); /* 32 */
	expect(CODE(BREG_SP "\x08\x06"), SAVED(-512), NONE);	  /* 64 */
	expect(CODE(BREG_SP "\x78\x06"), KEPT, NONE);
	expect(CODE(BREG_SP "\x0c\x06"), KEPT, NONE);
	expect(CODE(BREG_SP "\x08\x12"), KEPT, NONE);
	expect(CODE(BREG_SP "\x08\x06\x23\x0c"), KEPT, NONE);
	expect(CODE(BREG_SP "\x08\x06\x22"), KEPT, NONE);
	expect(CODE(BREG_SP "\x08\x06\x23\x08\x96"), KEPT, NONE);
	expect(CODE(BREG_SP "\x08\x06"), SAVED(-8), NONE);
	expect(CODE("\x73\x08\x06"), KEPT, NONE); /* of rbx */
}

static void test_plt(void **state)
{
	char code[] = "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22";
	size_t size = sizeof(code) - 1;

	(void)state;
	for (unsigned literal = 0x2e; literal < 0x42; literal++) {
		bool is = literal >= 0x30 && literal <= 0x3f;

		code[6] = (char)literal;
		assert_int_equal(compiled(code, size, KEPT),
				 is ? row_special(ROW_PLT, literal - 0x30) : NONE);
		if (is)
			assert_int_equal(compiled(code, size, SAVED(-16)), NONE);
	}
	code[6] = 0x3b;
	for (size_t i = 0; i < size; i++) {
		code[i] ^= 1;
		if (i != 6)
			assert_int_equal(compiled(code, size, KEPT), NONE);
		code[i] ^= 1;
		assert_int_equal(compiled(code, i, KEPT), NONE);
	}
	assert_int_equal(compiled(code, size + 1, KEPT), NONE);
	for (uint64_t pc = 0x1000; pc < 0x1020; pc++)
		for (unsigned constant = 0; constant < 16; constant++)
			assert_int_equal(arch_plt_cfa(0x7000, pc, constant),
					 0x7000 + (pc % 16 < constant ? 8 : 16));
}

/* What special rows hold comes out again. */
static void test_rows(void **state)
{
	const struct row_switched most = {31, 15, 31, 15, 7};
	uint32_t fields[5] = {0};

	(void)state;
	for (int32_t words = -512; words <= 512; words++)
		assert_int_equal(row_deref_fp_offset(row_deref_fp(words)), 8 * words);
	for (unsigned f = 0; f < 5; f++) {
		uint32_t top = ((const uint32_t *)&most)[f];

		for (fields[f] = 0; fields[f] <= top + 1; fields[f]++) {
			struct row_switched how = {fields[0], fields[1], fields[2], fields[3],
						   fields[4]};
			struct row_switched got = row_switched_of(row_switched(&how));

			assert_int_equal(row_switched_fits(&how), fields[f] <= top);
			if (fields[f] <= top)
				assert_memory_equal(&got, &how, sizeof(how));
		}
		fields[f] = 1;
	}
	for (unsigned i = 0; i < 64; i++) {
		struct arch_frame frame = {.from_fp = i & 1,
					   .cfa_words = i * 511 % (ARCH_FRAME_CFA_MAX + 1),
					   .fp_words = i % (ARCH_FRAME_FP_MAX + 1)},
				  got = row_scanned_frame(row_scanned(&frame));

		assert_int_equal(got.from_fp, frame.from_fp);
		assert_int_equal(got.cfa_words, frame.cfa_words);
		assert_int_equal(got.fp_words, frame.fp_words);
		assert_true(row_is(row_scanned(&frame), ROW_SCANNED));
	}
}

/* The kernel's code behind a handler, and no other. */
static void test_signal_return(void **state)
{
	const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x90};
	static const uint8_t gregs[] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};
	uint8_t other[sizeof(code)];
	uint32_t offset = 1;

	(void)state;
	for (size_t size = 0; size <= sizeof(code); size++)
		assert_int_equal(arch_is_signal_return(code, size, &offset), size >= 9);
	assert_int_equal(offset, 0);
	for (size_t i = 0; i < 9; i++) {
		memcpy(other, code, sizeof(code));
		other[i] ^= 0x10;
		assert_false(arch_is_signal_return(other, sizeof(other), &offset));
	}
	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++) /* asm/sigcontext.h */
		assert_int_equal(arch_signal_slot(1000, reg), 1000 + 40 + 8 * gregs[reg]);
}

/* A call of each length ends before a return address; fewer than seven bytes do not tell. */
static void test_behind_call(void **state)
{
	static const struct {
		const char *code;
		size_t size;
	} calls[] = {{CODE("\xe8\1\2\3\4")},	    {CODE("\xff\xd0")},
		     {CODE("\x41\xff\xd4")},	    {CODE("\xff\x50\x08")},
		     {CODE("\xff\x54\x24\x08")},    {CODE("\xff\x15\1\2\3\4")},
		     {CODE("\xff\x94\x24\1\2\3\4")}},
	  others[] = {{CODE("\xe9\1\2\3\4")},
		      {CODE("\xff\xe0")},
		      {CODE("\xff\xc0")},
		      {CODE("\x90")},
		      {CODE("\xc3")}};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint8_t code[17];

		memset(code, 0x90, sizeof(code));
		memcpy(code + 16 - calls[i].size, calls[i].code, calls[i].size);
		assert_true(arch_is_behind_call(code, 16));
		code[16] = 0x90;
		assert_false(arch_is_behind_call(code, 17));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint8_t code[16];

		memset(code, 0x90, sizeof(code));
		memcpy(code + 16 - others[i].size, others[i].code, others[i].size);
		assert_false(arch_is_behind_call(code, 16));
		assert_false(arch_is_behind_call(code + 9, 7));
		assert_true(arch_is_behind_call(code + 10, 6));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	      cmocka_unit_test(test_others),
		cmocka_unit_test(test_deref_fp),      cmocka_unit_test(test_deref_sp),
		cmocka_unit_test(test_plt),	      cmocka_unit_test(test_rows),
		cmocka_unit_test(test_signal_return), cmocka_unit_test(test_behind_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
