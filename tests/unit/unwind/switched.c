/* Functions that return on another stack, in bytes: Go's as they are, each of their instructions
 * changed, and the limits of what a row can say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/row.h"
#include "tests/unit/unwind/hex.h"

#define AT 0x400000u

static uint8_t memory[4096];

static bool switched(const char *hex, uint32_t *ret_row)
{
	struct arch_code code = {.begin = memory, .address = AT};

	memset(memory, 0xcc, 64); /* what lies before the call is not read */
	code.end = memory + 64 + bytes_of(hex, memory + 64);
	return arch_switched(&code, AT + 64, ret_row);
}

static void expect_row(const char *hex, uint32_t expected)
{
	uint32_t row = 0;

	if (!switched(hex, &row))
		fail_msg("%s: not known", hex);
	if (row != expected)
		fail_msg("%s: %#x", hex, row);
}

static void expect_nothing(const char *hex)
{
	uint32_t row;

	if (switched(hex, &row))
		fail_msg("%s: %#x", hex, row);
}

/* By the record of its function, on a stack that the code does not tell. */
#define ELSEWHERE row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE | RECORD_ELSEWHERE)

static void expect_lost(const char *hex)
{
	expect_row(hex, ELSEWHERE);
}

static uint32_t pointed(unsigned owner, unsigned field, unsigned depth, unsigned cfa, unsigned fp)
{
	const struct row_switched how = {owner, field, depth, cfa, fp};

	return row_switched(&how);
}

#define OWNER "48 8b 7c 24 30 "	  /* mov 48(%rsp), %rdi */
#define FIELD "48 8b 77 08 "	  /* mov 8(%rdi), %rsi */
#define DOWN  "48 2b 74 24 28 "	  /* sub 40(%rsp), %rsi */
#define TO_SP "48 89 f4 "	  /* mov %rsi, %rsp */
#define LEAVE "48 83 c4 10 5d c3" /* add $16, %rsp; pop %rbp; ret */
#define GO    OWNER FIELD DOWN TO_SP

static void test_pointed(void **state)
{
	uint32_t row = pointed(6, 1, 5, 4, 2);

	(void)state;
	expect_row(GO LEAVE, row);
	expect_row(OWNER FIELD DOWN "48 8b e6 " LEAVE, row); /* the other encoding */
	expect_row(GO "48 83 c4 10 c3", pointed(6, 1, 5, 3, ARCH_FP_KEPT));
	expect_row("90 " OWNER "90 " FIELD "89 c0 " DOWN "31 d2 " TO_SP LEAVE, row);
	/* by other registers, up to r15 */
	expect_row("4c 8b 7c 24 30 4d 8b 47 08 4c 2b 44 24 28 4c 89 c4 " LEAVE, row);
	/* the same register throughout */
	expect_row("48 8b 7c 24 30 48 8b 7f 08 48 2b 7c 24 28 48 89 fc " LEAVE, row);
	expect_row("48 8b 3c 24 48 8b 37 48 2b 34 24 " TO_SP LEAVE, pointed(0, 0, 0, 4, 2));
}

/* What is written over is known no longer; so are other distances and widths. */
static void test_not_pointed(void **state)
{
	(void)state;
	expect_lost("31 ff " FIELD DOWN TO_SP LEAVE);
	expect_lost(OWNER "31 ff " FIELD DOWN TO_SP LEAVE);
	expect_lost(OWNER FIELD "31 f6 " DOWN TO_SP LEAVE);
	expect_lost(OWNER FIELD DOWN "31 f6 " TO_SP LEAVE);
	expect_lost("8b 7c 24 30 " FIELD DOWN TO_SP LEAVE); /* half a word */
	expect_lost(OWNER "8b 77 08 " DOWN TO_SP LEAVE);
	expect_lost(OWNER FIELD "2b 74 24 28 " TO_SP LEAVE);
	expect_nothing(OWNER FIELD DOWN "89 f4 " LEAVE);
	expect_nothing(OWNER FIELD DOWN "48 01 f4 " LEAVE); /* adds */
	expect_lost(OWNER FIELD "48 03 74 24 28 " TO_SP LEAVE);
	expect_lost(OWNER FIELD "48 2b 77 28 " TO_SP LEAVE); /* not from the stack */
	expect_lost(OWNER FIELD DOWN DOWN TO_SP LEAVE);
	expect_lost(OWNER DOWN TO_SP LEAVE);		       /* no field */
	expect_lost(OWNER FIELD "48 2b f7 " TO_SP LEAVE);      /* a register is subtracted */
	expect_lost(OWNER "48 8b f7 " DOWN TO_SP LEAVE);       /* a register is copied */
	expect_lost("48 8b 7c 04 30 " FIELD DOWN TO_SP LEAVE); /* with an index */
	expect_lost(OWNER "48 8b 74 07 08 " DOWN TO_SP LEAVE);
	expect_lost(OWNER FIELD "48 2b 74 04 28 " TO_SP LEAVE);
	expect_lost("48 8b 7c 24 31 " FIELD DOWN TO_SP LEAVE); /* no word */
	expect_lost("48 8b 7c 24 f8 " FIELD DOWN TO_SP LEAVE); /* below sp */
	expect_lost(OWNER "48 8b 77 f8 " DOWN TO_SP LEAVE);
	expect_lost(OWNER FIELD "48 2b 74 24 f8 " TO_SP LEAVE);
	expect_nothing(OWNER FIELD DOWN "48 89 f5 " LEAVE); /* to fp */
	expect_nothing(OWNER FIELD DOWN TO_SP);		    /* the code ends */
	expect_nothing(OWNER FIELD DOWN TO_SP "06");
	expect_nothing(OWNER FIELD);
	expect_nothing("");
}

/* Instructions on the way that can't be followed. */
static void test_stops(void **state)
{
	static const char *const stops[] = {
		"e8 00 00 00 00", "eb 00", "74 00",	     "c3", "50", "58", "48 83 ec 08",
		"48 8b 6c 24 08", "06",	   "48 8d 6c 24 08",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		snprintf(text, sizeof(text), OWNER FIELD DOWN "%s " TO_SP LEAVE, stops[i]);
		expect_nothing(text);
	}
}

/* The largest of each field: 31 words, 15, 31, a frame of 15 words. */
static void test_limits(void **state)
{
	(void)state;
	expect_row("48 8b bc 24 f8 00 00 00 " FIELD DOWN TO_SP LEAVE, pointed(31, 1, 5, 4, 2));
	expect_lost("48 8b bc 24 00 01 00 00 " FIELD DOWN TO_SP LEAVE);
	expect_row(OWNER "48 8b 77 78 " DOWN TO_SP LEAVE, pointed(6, 15, 5, 4, 2));
	expect_nothing(OWNER "48 8b b7 80 00 00 00 " DOWN TO_SP LEAVE);
	expect_lost(OWNER "48 8b b7 00 01 00 00 " DOWN TO_SP LEAVE);
	expect_row(OWNER FIELD "48 2b b4 24 f8 00 00 00 " TO_SP LEAVE, pointed(6, 1, 31, 4, 2));
	expect_lost(OWNER FIELD "48 2b b4 24 00 01 00 00 " TO_SP LEAVE);
	expect_row(GO "48 83 c4 68 5d c3", pointed(6, 1, 5, 15, 2));
	expect_nothing(GO "48 83 c4 70 5d c3");
	for (unsigned more = 0; more < 2; more++) { /* 40 instructions */
		char text[256] = "";

		for (unsigned i = 0; i < 36 + more; i++)
			strcat(text, "90 ");
		strcat(text, GO LEAVE);
		if (more)
			expect_nothing(text);
		else
			expect_row(text, pointed(6, 1, 5, 4, 2));
	}
}

/* The other sp itself lies on this stack. */
static void test_on_stack(void **state)
{
	(void)state;
	expect_row("48 8b 74 24 28 " TO_SP LEAVE, row_deref_sp(5, 4, 2));
	expect_row("48 8b 64 24 28 " LEAVE, row_deref_sp(5, 4, 2)); /* at once */
	expect_row("48 8b 74 24 28 " TO_SP "48 83 c4 10 c3", row_deref_sp(5, 3, 0));
	expect_row("48 8b 74 24 28 " TO_SP "48 81 c4 e8 00 00 00 5d c3", row_deref_sp(5, 31, 2));
	expect_nothing("48 8b 74 24 28 " TO_SP "48 81 c4 f8 00 00 00 c3");
	expect_nothing("8b 64 24 28 " LEAVE);
}

/* The code does not tell where the other one is, but its function has a record there. */
static void test_elsewhere(void **state)
{
	(void)state;
	expect_row("48 8b 66 38 " LEAVE, ELSEWHERE);
	expect_row(TO_SP LEAVE, ELSEWHERE);
	expect_row("48 8b 66 38 48 8b 6c 24 18 48 83 c4 20 c3", ELSEWHERE); /* mov 24(%rsp), %rbp */
	expect_nothing("48 8b 66 38 48 83 c4 10 c3");			    /* fp is kept */
	expect_nothing("48 8b 66 38 48 8b 6c 24 08 48 83 c4 20 c3");
	expect_nothing("48 8b 66 38 c9 c3"); /* it goes on by fp */
	expect_row(OWNER "48 8b 67 38 " LEAVE, ELSEWHERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointed),	 cmocka_unit_test(test_not_pointed),
		cmocka_unit_test(test_stops),	 cmocka_unit_test(test_limits),
		cmocka_unit_test(test_on_stack), cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
