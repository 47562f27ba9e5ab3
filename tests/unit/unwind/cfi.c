/* Call frame instructions, assembled by hand: every one with its operands, what it does and what it
 * leaves alone; limits, nesting, and programs that end anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/unwind/cfi.h"

#define START	   0x10000u /* of the function */
#define CODE_ALIGN 4
#define DATA_ALIGN (-8)
#define INITIAL	   512 /* where instructions lie in the "module" */
#define OWN	   1024
#define REG	   3 /* is tracked everywhere, and is nothing special */
#define OTHER	   5

static uint8_t image[2048];
static struct unwind_module module;
static struct eh_entry entry;

/* A string's bytes without its end. */
#define CODE(text) text, sizeof(text) - 1

/* What entries share: cfa = sp + 16; REG lies at cfa - 24. */
static void begin(void)
{
	const uint8_t initial[] = {0x0c, ARCH_REG_SP, 16, 0x80 | REG, 3};

	memset(image, 0xff, sizeof(image)); /* no instruction */
	memcpy(image + INITIAL, initial, sizeof(initial));
	module = (struct unwind_module){.load_start = (uintptr_t)image,
					.load_end = (uintptr_t)image + sizeof(image),
					.eh_frame_hdr = (uintptr_t)image};
	entry = (struct eh_entry){.start = START,
				  .end = START + 0x100000,
				  .initial = {INITIAL, INITIAL + sizeof(initial)},
				  .instructions = {OWN, OWN},
				  .code_align = CODE_ALIGN,
				  .data_align = DATA_ALIGN,
				  .return_register = ARCH_REG_RA};
}

static int decode_at(uint64_t address, const char *code, size_t size, struct cfi_rules *ret)
{
	memset(image + OWN, 0xff, sizeof(image) - OWN);
	memcpy(image + OWN, code, size);
	entry.instructions.end = OWN + size;
	return cfi_decode(&module, &entry, address, ret);
}

static int decode(const char *code, size_t size, struct cfi_rules *ret)
{
	return decode_at(START, code, size, ret);
}

static int error_of(const char *code, size_t size)
{
	struct cfi_rules unused;

	return decode(code, size, &unused);
}

static struct cfi_rules shared(void)
{
	struct cfi_rules rules = {.cfa = {CFI_VAL_OFFSET, 16}, .cfa_register = ARCH_REG_SP};

	rules.registers[REG] = (struct cfi_rule){CFI_OFFSET, -24};
	return rules;
}

static void assert_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->value, b->value);
}

static void assert_rules(const struct cfi_rules *got, const struct cfi_rules *expected)
{
	assert_rule(&got->cfa, &expected->cfa);
	assert_int_equal(got->cfa_register, expected->cfa_register);
	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++)
		assert_rule(&got->registers[reg], &expected->registers[reg]);
}

static void expect(const char *code, size_t size, const struct cfi_rules *expected)
{
	struct cfi_rules got;

	assert_int_equal(decode(code, size, &got), 0);
	assert_rules(&got, expected);
}

/* The rules are the shared ones, but one. */
static void expect_rule(const char *code, size_t size, unsigned reg, enum cfi_kind kind,
			int32_t value)
{
	struct cfi_rules rules = shared();

	rules.registers[reg] = (struct cfi_rule){kind, value};
	expect(code, size, &rules);
}

static void expect_cfa(const char *code, size_t size, unsigned reg, enum cfi_kind kind,
		       int32_t value)
{
	struct cfi_rules rules = shared();

	rules.cfa = (struct cfi_rule){kind, value};
	rules.cfa_register = (uint8_t)reg;
	expect(code, size, &rules);
}

static void test_registers(void **state)
{
	struct cfi_rules rules;

	(void)state;
	begin();
	rules = shared();
	expect(CODE(""), &rules);
	expect(CODE("\x00\x00"), &rules);
	expect(CODE("\x2d"), &rules);	      /* window save: signed from here on */
	expect(CODE("\x2e\x85\x02"), &rules); /* size of arguments */
	expect_rule(CODE("\x85\x07"), OTHER, CFI_OFFSET, -56);
	expect_rule(CODE("\x85\x81\x01"), OTHER, CFI_OFFSET, -129 * 8);
	expect_rule(CODE("\x05\x05\x07"), OTHER, CFI_OFFSET, -56);
	expect_rule(CODE("\x11\x05\x7e"), OTHER, CFI_OFFSET, 16);
	expect_rule(CODE("\x11\x05\x02"), OTHER, CFI_OFFSET, -16);
	expect_rule(CODE("\x2f\x05\x07"), OTHER, CFI_OFFSET, 56);
	expect_rule(CODE("\x14\x05\x07"), OTHER, CFI_VAL_OFFSET, -56);
	expect_rule(CODE("\x15\x05\x7e"), OTHER, CFI_VAL_OFFSET, 16);
	expect_rule(CODE("\x07\x05"), OTHER, CFI_UNDEFINED, 0);
	expect_rule(CODE("\x07\x03"), REG, CFI_UNDEFINED, 0);
	expect_rule(CODE("\x08\x03"), REG, CFI_SAME, 0);
	expect_rule(CODE("\x09\x05\x02"), OTHER, CFI_REGISTER, 2);
	expect_rule(CODE("\x10\x05\x01\x96"), OTHER, CFI_EXPRESSION, OWN + 2);
	expect_rule(CODE("\x16\x05\x02\x96\x96"), OTHER, CFI_VAL_EXPRESSION, OWN + 2);
	expect_rule(CODE("\x10\x05\x00\x00"), OTHER, CFI_EXPRESSION, OWN + 2);
	/* behind an expression the instructions go on */
	expect_rule(CODE("\x16\x03\x02\x0f\x0f\xc3\x85\x01"), OTHER, CFI_OFFSET, -8);
}

/* Back to what entries share. */
static void test_restored(void **state)
{
	struct cfi_rules rules;

	(void)state;
	begin();
	rules = shared();
	expect_rule(CODE("\x08\x03\x85\x07\xc3"), OTHER, CFI_OFFSET, -56);
	expect_rule(CODE("\x08\x03\x85\x07\x06\x03"), OTHER, CFI_OFFSET, -56);
	expect(CODE("\x85\x07\xc5"), &rules);
	expect(CODE("\x85\x07\x06\x05"), &rules);
}

static void test_cfa(void **state)
{
	(void)state;
	begin();
	expect_cfa(CODE("\x0c\x05\x85\x01"), OTHER, CFI_VAL_OFFSET, 133);
	expect_cfa(CODE("\x12\x05\x7e"), OTHER, CFI_VAL_OFFSET, 16);
	expect_cfa(CODE("\x12\x05\x02"), OTHER, CFI_VAL_OFFSET, -16);
	expect_cfa(CODE("\x0d\x05"), OTHER, CFI_VAL_OFFSET, 16);
	expect_cfa(CODE("\x0e\x85\x01"), ARCH_REG_SP, CFI_VAL_OFFSET, 133);
	expect_cfa(CODE("\x13\x7d"), ARCH_REG_SP, CFI_VAL_OFFSET, 24);
	expect_cfa(CODE("\x0f\x01\x96"), ARCH_REG_SP, CFI_EXPRESSION, OWN + 1);
	/* from the expression back to a register: the offset is told first */
	expect_cfa(CODE("\x0f\x01\x96\x0c\x05\x08"), OTHER, CFI_VAL_OFFSET, 8);
	expect_cfa(CODE("\x0f\x01\x96\x0e\x08"), ARCH_REG_SP, CFI_VAL_OFFSET, 8);
	expect_cfa(CODE("\x0f\x01\x96\x0d\x05"), OTHER, CFI_VAL_OFFSET, OWN + 1);
}

/* One that can't be held is damage, but of a register that is not tracked. */
static void test_limits(void **state)
{
	struct cfi_rules rules;
	char code[] = {0x0d, ARCH_REGISTERS - 1, 0x08, 0x03, 0x08, ARCH_REGISTERS};

	(void)state;
	begin();
	rules = shared();
	expect_cfa(code, 2, ARCH_REGISTERS - 1, CFI_VAL_OFFSET, 16);
	code[1]++;
	assert_int_equal(error_of(code, 2), -EBADMSG);
	code[1] = REG;
	code[0] = 0x0c; /* cfa: the register, and its offset */
	code[2] = 8;
	expect_cfa(code, 3, REG, CFI_VAL_OFFSET, 8);
	code[1] = ARCH_REGISTERS;
	assert_int_equal(error_of(code, 3), -EBADMSG);
	code[0] = 0x12;
	assert_int_equal(error_of(code, 3), -EBADMSG);

	expect_rule((char[]){0x07, ARCH_REGISTERS - 1}, 2, ARCH_REGISTERS - 1, CFI_UNDEFINED, 0);
	expect((char[]){0x07, ARCH_REGISTERS}, 2, &rules);
	expect((char[]){0x06, ARCH_REGISTERS}, 2, &rules);
	expect(CODE("\x07\xff\x7f"), &rules);
	expect(CODE("\x06\xff\xff\xff\xff\x7f"), &rules);
	expect((char[]){0x05, ARCH_REGISTERS, (char)0xff, (char)0xff, (char)0xff, (char)0xff, 0x7f},
	       7, &rules);

	/* 2^31 - 8 below, 2^31 below, and one word more; the same of the cfa */
	expect_rule(CODE("\x85\xff\xff\xff\x7f"), OTHER, CFI_OFFSET, -2147483640);
	expect_rule(CODE("\x85\x80\x80\x80\x80\x01"), OTHER, CFI_OFFSET, INT32_MIN);
	assert_int_equal(error_of(CODE("\x85\x81\x80\x80\x80\x01")), -EBADMSG);
	expect_rule(CODE("\x2f\x05\xff\xff\xff\x7f"), OTHER, CFI_OFFSET, 2147483640);
	assert_int_equal(error_of(CODE("\x2f\x05\x80\x80\x80\x80\x01")), -EBADMSG);
	expect_cfa(CODE("\x0e\xff\xff\xff\xff\x07"), ARCH_REG_SP, CFI_VAL_OFFSET, INT32_MAX);
	assert_int_equal(error_of(CODE("\x0e\x80\x80\x80\x80\x08")), -EBADMSG);
	assert_int_equal(error_of(CODE("\x0c\x03\x80\x80\x80\x80\x08")), -EBADMSG);
	assert_int_equal(error_of(CODE("\x13\x81\x80\x80\x80\x01")), -EBADMSG);
	assert_int_equal(error_of(CODE("\x12\x03\x81\x80\x80\x80\x01")), -EBADMSG);
}

/* Six states can be remembered. */
static void test_remembered(void **state)
{
	char code[64];
	struct cfi_rules got, rules = {.cfa_register = 0};

	(void)state;
	begin();
	for (unsigned deep = 1; deep <= 7; deep++) {
		unsigned size = 0;

		for (unsigned i = 0; i < deep; i++) {
			code[size++] = 0x0e; /* cfa = sp + i, which is remembered */
			code[size++] = (char)i;
			code[size++] = 0x0a;
		}
		assert_int_equal(error_of(code, size), deep > 6 ? -EBADMSG : 0);
		code[size++] = 0x08; /* these go with the state */
		code[size++] = REG;
		code[size++] = 0x0e;
		code[size++] = 77;
		for (unsigned i = deep; i-- > 0;) {
			code[size++] = 0x0b;
			if (deep > 6)
				continue;
			assert_int_equal(decode(code, size, &got), 0);
			rules = shared();
			rules.cfa.value = (int32_t)i;
			assert_rules(&got, &rules);
		}
		assert_int_equal(error_of(code, size), deep > 6 ? -EBADMSG : 0);
		code[size++] = 0x0b; /* once too often */
		assert_int_equal(error_of(code, size), -EBADMSG);
	}
}

/* The instructions behind an advance hold from there on. */
static void expect_from(uint64_t from, const char *advance, size_t size)
{
	struct cfi_rules got, rules = shared();
	char code[64];

	memcpy(code, advance, size);
	memcpy(code + size, "\x85\x01", 2);
	assert_int_equal(decode_at(from - 1, code, size + 2, &got), 0);
	assert_rules(&got, &rules);
	rules.registers[OTHER] = (struct cfi_rule){CFI_OFFSET, -8};
	assert_int_equal(decode_at(from, code, size + 2, &got), 0);
	assert_rules(&got, &rules);
	code[size] = 0x3f; /* no instruction: what is not executed is not read */
	code[size + 1] = 0x3f;
	assert_int_equal(decode_at(from - 1, code, size + 2, &got), 0);
	assert_int_equal(decode_at(from, code, size + 2, &got), -EBADMSG);
}

static void put_host(char *to, uint64_t value, size_t size)
{
	if (size == 2)
		memcpy(to, &(uint16_t){(uint16_t)value}, 2);
	else if (size == 4)
		memcpy(to, &(uint32_t){(uint32_t)value}, 4);
	else
		memcpy(to, &value, 8);
}

static void test_locations(void **state)
{
	char code[16];

	(void)state;
	begin();
	for (unsigned delta = 1; delta < 0x40; delta++)
		expect_from(START + CODE_ALIGN * delta, (char[]){(char)(0x40 | delta)}, 1);
	expect_from(START + CODE_ALIGN * 0xfe, CODE("\x02\xfe"));
	code[0] = 0x03;
	put_host(code + 1, 0xfedc, 2);
	expect_from(START + CODE_ALIGN * 0xfedc, code, 3);
	code[0] = 0x04;
	put_host(code + 1, 0xfedcba98, 4);
	expect_from(START + CODE_ALIGN * 0xfedcba98ull, code, 5);
	expect_from(START + CODE_ALIGN * 7, CODE("\x43\x02\x04")); /* they add up */
	code[0] = 0x01; /* set, in the encoding of the entry */
	put_host(code + 1, START + 0x123456789, 8);
	expect_from(START + 0x123456789, code, 9);
	entry.pointer_encoding = 0x33; /* of 4 bytes, from the header */
	put_host(code + 1, 0x87654321, 4);
	expect_from((uintptr_t)image + 0x87654321, code, 5);
	/* after it, advances go on from there */
	code[5] = 0x42;
	expect_from((uintptr_t)image + 0x87654321 + 2 * CODE_ALIGN, code, 6);
}

/* Of all bytes, these are instructions. */
static void test_known(void **state)
{
	char code[16] = {0};

	(void)state;
	begin();
	for (unsigned op = 0; op < 256; op++) {
		bool known = op <= 0x16 || (op >= 0x2d && op <= 0x2f) || op >= 0x40;

		code[0] = (char)op;
		if (op == 0x0b || (op & 0xc0) == 0x40 || op == 1)
			continue; /* nothing is remembered; the location changes */
		assert_int_equal(error_of(code, sizeof(code)), known ? 0 : -EBADMSG);
	}
}

/* One that ends in an operand is damage; so is one whose expression is longer than the rest. */
static void test_ends(void **state)
{
	static const struct {
		const char *code;
		size_t size;
	} whole[] = {
		{CODE("\x02\x00")},
		{CODE("\x03\x00\x00")},
		{CODE("\x04\x00\x00\x00\x00")},
		{CODE("\x05\x05\x07")},
		{CODE("\x06\x05")},
		{CODE("\x07\x05")},
		{CODE("\x08\x05")},
		{CODE("\x09\x05\x02")},
		{CODE("\x0c\x05\x08")},
		{CODE("\x0d\x05")},
		{CODE("\x0e\x05")},
		{CODE("\x0f\x02\x96\x96")},
		{CODE("\x10\x05\x02\x96\x96")},
		{CODE("\x11\x05\x07")},
		{CODE("\x12\x05\x08")},
		{CODE("\x13\x05")},
		{CODE("\x14\x05\x07")},
		{CODE("\x15\x05\x07")},
		{CODE("\x16\x05\x02\x96\x96")},
		{CODE("\x2e\x81\x01")},
		{CODE("\x2f\x05\x07")},
		{CODE("\x85\x81\x01")},
	};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		assert_int_equal(error_of(whole[i].code, whole[i].size), 0);
		for (size_t size = 1; size < whole[i].size; size++)
			assert_int_equal(error_of(whole[i].code, size), -EBADMSG);
	}
}

/* Damage in what entries share, and entries that lack what a walk needs. */
static void test_refused(void **state)
{
	struct cfi_rules got;

	(void)state;
	begin();
	image[INITIAL + 3] = 0x3f; /* no instruction */
	assert_int_equal(error_of(CODE("")), -EBADMSG);
	begin();
	entry.initial.end--;
	assert_int_equal(error_of(CODE("")), -EBADMSG);
	begin();
	entry.return_register++;
	assert_int_equal(error_of(CODE("")), -EBADMSG);
	begin();
	entry.initial.end = entry.initial.begin; /* no cfa */
	assert_int_equal(error_of(CODE("")), -EBADMSG);
	assert_int_equal(error_of(CODE("\x0e\x08")), 0);
	assert_int_equal(error_of(CODE("\x0f\x01\x96")), 0);
	begin();
	got = (struct cfi_rules){.cfa_register = 77};
	assert_int_equal(decode(CODE("\x0e\x08\x3f"), &got), -EBADMSG);
	assert_int_equal(got.cfa_register, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),  cmocka_unit_test(test_restored),
		cmocka_unit_test(test_cfa),	   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_remembered), cmocka_unit_test(test_locations),
		cmocka_unit_test(test_known),	   cmocka_unit_test(test_ends),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
