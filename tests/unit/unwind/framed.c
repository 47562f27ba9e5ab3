/*
 * Code without tables whose functions keep a frame pointer, with such between them that don't: each
 * of their frames is on the stack, at calls and wherever they are interrupted. Nothing is aligned,
 * and some calls do not return, so that only reading tells where one function ends.
 */
#include "tests/unit/unwind/outer.h"

void framed_outer(void (*call)(void), void (*inner)(void (*)(void)));
void framed_stops(void (*call)(void));
void framed_bare(void (*call)(void));
void framed_tail(void (*call)(void));
void framed_early(void (*call)(void));
void framed_aligned(void (*call)(void));
void framed_saving(void (*call)(void));
void framed_twice(void (*call)(void));
void framed_leaf(void (*call)(void));
extern const char framed_site, framed_begin, framed_end;
__asm__(".text\n"
	"framed_outer:\n\t"
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"pushq %rbx\n\t"
	"pushq %r12\n\t"
	"movl $2, %ebx\n"
	"1:\n\t"
	"movq %rdi, %r12\n\t"
	"pushq %rsi\n\t"
	"pushq %rsi\n\t"
	"call *%rsi\n"
	"framed_site:\n\t"
	"popq %rsi\n\t"
	"popq %rsi\n\t"
	"movq %r12, %rdi\n\t"
	"decl %ebx\n\t"
	"jnz 1b\n\t"
	"popq %r12\n\t"
	"popq %rbx\n\t"
	"popq %rbp\n\t"
	"ret\n"
	"framed_begin:\n"
	"framed_stops:\n\t" /* its last call never returns */
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"pushq %rbx\n\t"
	"subq $8, %rsp\n\t"
	"call *%rdi\n\t"
	"testq %rsp, %rsp\n\t"
	"jz 1f\n\t"
	"addq $8, %rsp\n\t"
	"popq %rbx\n\t"
	"popq %rbp\n\t"
	"ret\n"
	"1:\n\t"
	"call abort\n"
	"framed_bare:\n\t"
	"subq $8, %rsp\n\t"
	"call *%rdi\n\t"
	"addq $8, %rsp\n\t"
	"ret\n"
	"framed_aligned:\n\t" /* nobody knows where its sp is */
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"andq $-64, %rsp\n\t"
	"subq $64, %rsp\n\t"
	"call *%rdi\n\t"
	"testq %rsp, %rsp\n\t"
	"jz 1f\n\t"
	"leave\n\t"
	"ret\n"
	"1:\n\t"
	"call abort\n"
	"framed_tail:\n\t"
	"pushq %rdi\n\t"
	"call *%rdi\n\t"
	"popq %rdi\n\t"
	"jmp framed_leaf\n"
	"framed_early:\n\t"
	"testq %rdi, %rdi\n\t"
	"jz 1f\n\t"
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"call *%rdi\n\t"
	"popq %rbp\n"
	"1:\n\t"
	"ret\n"
	"framed_saving:\n\t" /* not a frame pointer: something lies above */
	"pushq %rbx\n\t"
	"pushq %r12\n\t"
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"subq $16, %rsp\n\t"
	"call *%rdi\n\t"
	"leave\n\t"
	"popq %r12\n\t"
	"popq %rbx\n\t"
	"ret\n"
	"framed_twice:\n\t" /* the first return seems to end a call */
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"call *%rdi\n\t"
	"testq %rsp, %rsp\n\t"
	"jz 1f\n\t"
	"movb $0xe8, %al\n\t"
	"nop\n\t"
	"nop\n\t"
	"popq %rbp\n\t"
	"ret\n"
	"1:\n\t"
	"call abort\n\t"
	"popq %rbp\n\t"
	"ret\n"
	"framed_leaf:\n\t"
	"movq %rdi, %rax\n\t"
	"addq $1, %rax\n\t"
	"pushq %rax\n\t"
	"popq %rax\n\t"
	"ret\n"
	"framed_end:\n");

static void (*const inner[])(void (*)(void)) = {
	framed_stops, framed_bare,   framed_aligned, framed_tail,
	framed_early, framed_saving, framed_twice,   framed_leaf,
};
#define INNER (sizeof(inner) / sizeof(inner[0]))

static unsigned met;

/* Of those frames each has framed_outer's for its caller. */
static void look(void)
{
	hook();
	for (uint32_t i = 1; i < seen.depth; i++) {
		uint64_t at = seen.pcs[i] - 1;

		if (at < (uintptr_t)&framed_begin || at >= (uintptr_t)&framed_end)
			continue;
		met++;
		if (seen.pcs[i - 1] != (uintptr_t)&framed_site) {
			show("got", seen.pcs, seen.depth);
			fail_msg("the caller of %#lx is left out",
				 (unsigned long)(at - (uintptr_t)&framed_begin));
		}
	}
}

static void test_calls(void **state)
{
	(void)state;
	for (size_t first = 0; first < INNER; first++) {
		unwind_modules_changed();
		remember_outer();
		met = 0;
		for (size_t i = 0; i < 2 * INNER; i++)
			framed_outer(look, inner[(first + i) % INNER]);
		assert_int_equal(met, 2 * 2 * (INNER - 1)); /* the leaf makes no call */
		assert_int_equal(captures, met);
		assert_int_equal(truncated, 0);
	}
}

static void nothing(void)
{
}

static void trapped_there(int number)
{
	(void)number;
	look();
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void step_all(void)
{
	set_trap(true);
	for (size_t i = 0; i < INNER; i++)
		framed_outer(nothing, inner[i]);
	set_trap(false);
}

static void test_interrupted(void **state)
{
	struct sigaction action = {.sa_handler = trapped_there}, old;

	(void)state;
	remember_outer();
	met = 0;
	sigaction(SIGTRAP, &action, &old);
	step_all();
	sigaction(SIGTRAP, &old, NULL);
	printf("%u instructions, %u in functions that are called, %u truncated\n", captures, met,
	       truncated);
	assert_true(met > 100);
	assert_int_equal(truncated, 0);
}

static int setup(void **state)
{
	(void)state;
	outer_setup(&test_host);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_interrupted),
	};

	if (*skip_reason) {
		puts(skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
