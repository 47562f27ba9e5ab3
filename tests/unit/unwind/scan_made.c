/* Code without a table, a few instructions at a time: whether the frame there is an outermost one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/unwind/arch/arch.h"

/* xor %ebp, %ebp, in both encodings; sub $8, %rsp; call; je, jmp and jmp *%rax */
#define CLEAR	  0x31, 0xed
#define CLEAR_TOO 0x33, 0xed
#define OTHER	  0x31, 0xdb /* xor %ebx, %ebx */
#define ROOM	  0x48, 0x83, 0xec, 0x08
#define CALL	  0xe8, 0x10, 0, 0, 0
#define BRANCH	  0x74, 0
#define JUMP	  0xeb, 0
#define AWAY	  0xff, 0xe0

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_outermost)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
