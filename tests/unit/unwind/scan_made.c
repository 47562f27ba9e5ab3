/* Code without a table, a few instructions at a time: whether the frame there is an outermost one,
 * and which jumps leave the function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/unwind/arch/arch.h"
#include "agent/unwind/arch/x86_64/scan.h"

/* xor %ebp, %ebp, in both encodings; sub $8, %rsp; call; je, jmp and jmp *%rax */
#define CLEAR	     0x31, 0xed
#define CLEAR_TOO    0x33, 0xed
#define OTHER	     0x31, 0xdb /* xor %ebx, %ebx */
#define ROOM	     0x48, 0x83, 0xec, 0x08
#define CALL	     0xe8, 0x10, 0, 0, 0
#define BRANCH	     0x74, 0
#define JUMP	     0xeb, 0
#define AWAY	     0xff, 0xe0
#define ROOM_AWAY(n) 0x48, 0x83, 0xc4, n /* add $n, %rsp */

#define CODE(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	uint8_t code[32];
	size_t length;
	bool outermost;
} cases[] = {
	{CODE(CLEAR, ROOM, CALL), true},
	{CODE(CLEAR_TOO, ROOM, CALL), true},
	{CODE(OTHER, ROOM, CALL), false},
	{CODE(CLEAR, ROOM, OTHER, CALL), true},
	{CODE(CLEAR, ROOM, CALL, OTHER, CALL), true},
	{CODE(CLEAR, BRANCH, ROOM, CALL), false},
	{CODE(CLEAR, JUMP, ROOM, CALL), false},
	{CODE(CLEAR, AWAY, ROOM, CALL), false},
	{CODE(BRANCH, CLEAR, ROOM, CALL), true},
};

static void test_outermost(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct arch_code code = {.begin = cases[i].code,
					       .end = cases[i].code + sizeof(cases[i].code),
					       .address = 0x1000};
		struct arch_frame frame = {.outermost = false};

		arch_scan(&code, 0x1000 + cases[i].length, false, &frame);
		assert_int_equal(frame.outermost, cases[i].outermost);
	}
}

/* A jump to where a register says leaves the function only right behind what takes its frame
 * away: add to %rsp, a pop, or leave. */
static const struct {
	uint8_t code[16];
	uint32_t cfa_words; /* 0: nothing is known of the frame */
} leaving[] = {
	{{AWAY}, 0},
	{{0x48, 0x83, 0xc4, 0x10, AWAY}, 3},		    /* add $16, %rsp */
	{{0x48, 0x81, 0xc4, 0x10, 1, 0, 0, AWAY}, 35},	    /* add $272, %rsp */
	{{0x48, 0x81, 0xc4, 0x10, 0, 0, 0, 0x90, AWAY}, 0}, /* a nop between them */
	{{0x48, 0x83, 0xc4, 0, AWAY}, 1},
	{{0x48, 0x83, 0xec, 0, AWAY}, 0},		 /* sub $0, %rsp */
	{{0x48, 0x81, 0xec, 0, 0, 0, 0, AWAY}, 0},	 /* the same, longer */
	{{0x48, 0x83, 0xc0, 0x10, AWAY}, 0},		 /* add $16, %rax */
	{{0x48, 0x83, 0x04, 0x24, 0x10, AWAY}, 0},	 /* add $16, (%rsp) */
	{{0x48, 0x81, 0x04, 0x24, 1, 0, 0, 0, AWAY}, 0}, /* add $1, (%rsp) */
	{{0x48, 0x01, 0xc4, AWAY}, 0},			 /* add %rax, %rsp */
	{{0x48, 0x89, 0xc4, AWAY}, 0},			 /* mov %rax, %rsp */
	{{0x48, 0x8b, 0xe0, AWAY}, 0},			 /* the same, the other way round */
	{{0x58, AWAY}, 2},				 /* pop %rax */
	{{0x5b, AWAY}, 2},				 /* pop %rbx */
	{{0x41, 0x5f, AWAY}, 2},			 /* pop %r15 */
	{{0x50, AWAY}, 0},				 /* push %rax */
	{{0x0f, 0x58, 0xc0, AWAY}, 0},			 /* addps %xmm0, %xmm0 */
	{{0x0f, 0xc9, AWAY}, 0},			 /* bswap %ecx */
	{{0x58, 0xc3}, 2},				 /* a return always leaves */
	{{0x90, 0xc3}, 1},
	{{ROOM_AWAY(8), 0x5d, ROOM_AWAY(8), 0xc3}, 4},
	{{ROOM_AWAY(4), 0x5d, ROOM_AWAY(4), 0xc3}, 0}, /* no place for a saved %rbp */
};

static void test_leaving(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(leaving) / sizeof(leaving[0]); i++) {
		const struct arch_code code = {.begin = leaving[i].code,
					       .end = leaving[i].code + sizeof(leaving[i].code),
					       .address = 0x1000};
		struct arch_frame frame = {.cfa_words = 0};
		bool found = scan_forward(&code, leaving[i].code, true, &frame);

		assert_int_equal(found ? frame.cfa_words : 0, leaving[i].cfa_words);
		assert_false(frame.from_fp);
	}
}

/* Behind a call, read from where a return has ended another function: %rbp is where its push has
 * put it, if that is a place for it. */
static const struct {
	uint8_t code[32];
	size_t length;
	uint32_t cfa_words, fp_words;
} pushing[] = {
	{CODE(0xc3, 0x55, 0x48, 0x83, 0xec, 0x10, CALL, 0xf4), 4, 2},
	{CODE(0xc3, 0x48, 0x83, 0xec, 0x08, 0x55, 0x48, 0x83, 0xec, 0x08, CALL, 0xf4), 4, 3},
	{CODE(0xc3, 0x48, 0x83, 0xec, 0x04, 0x55, 0x48, 0x83, 0xec, 0x0c, CALL, 0xf4), 0, 0},
};

static void test_pushing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pushing) / sizeof(pushing[0]); i++) {
		const struct arch_code code = {.begin = pushing[i].code,
					       .end = pushing[i].code + pushing[i].length,
					       .address = 0x1000};
		struct arch_frame frame = {.cfa_words = 0};
		bool found = arch_scan(&code, 0x1000 + pushing[i].length - 1, false, &frame);

		assert_int_equal(found, pushing[i].cfa_words != 0);
		assert_int_equal(found ? frame.cfa_words : 0, pushing[i].cfa_words);
		assert_int_equal(found ? frame.fp_words : 0, pushing[i].fp_words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_outermost),
					   cmocka_unit_test(test_leaving),
					   cmocka_unit_test(test_pushing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
