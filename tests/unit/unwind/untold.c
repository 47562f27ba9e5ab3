/*
 * Through code that no table tells of: hand-written assembly, and the code of musl's libc, which
 * has none. The outer part of each stack is known: it is what a capture in the test function itself
 * gives.
 */
#include "tests/unit/unwind/mapped.h"
#include "tests/unit/unwind/outer.h"

#ifdef __x86_64__
static struct mapped musl;

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	if (musl.memory && pc >= musl.module.start && pc < musl.module.end)
		return &musl.module;
	return host_find_module(context, pc);
}

static const struct unwind_host untold_host = {
	.find_module = find_module,
	.stack_bounds = host_stack_bounds,
	.readable = host_readable,
	.pages = host_pages,
};

/* No frame pointer, no table; the register is used for other things. */
void untold_plain(void (*call)(void));
void untold_realigned(void (*call)(void));
void untold_branches(void (*call)(void), long which);
__asm__(".text\n"
	"untold_plain:\n\t"
	"pushq %rbp\n\t"
	"pushq %rbx\n\t"
	"subq $0x108, %rsp\n\t"
	"movq $0x1234567, %rbp\n\t"
	"call *%rdi\n\t"
	"addq $0x108, %rsp\n\t"
	"popq %rbx\n\t"
	"popq %rbp\n\t"
	"ret\n"
	"untold_realigned:\n\t"
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"andq $-64, %rsp\n\t"
	"subq $64, %rsp\n\t"
	"call *%rdi\n\t"
	"leave\n\t"
	"ret\n"
	"untold_branches:\n\t"
	"pushq %r12\n\t"
	"movq %rsi, %r12\n\t"
	"testq %rsi, %rsi\n\t"
	"jz 1f\n\t"
	"pushq %rbp\n\t"
	"pushq %rbp\n\t"
	"xorl %ebp, %ebp\n\t"
	"call *%rdi\n\t"
	"testq %r12, %r12\n\t"
	"js 2f\n\t"
	"popq %rbp\n\t"
	"popq %rbp\n"
	"1:\n\t"
	"popq %r12\n\t"
	"ret\n"
	"2:\n\t"
	"addq $8, %rsp\n\t"
	"popq %rbp\n\t"
	"jmp 1b\n");

/* The only way to a return that can be seen is one that is never taken, and wrong: what it leads to
 * is a code address that no call stands before, or 0. The frame record is right. */
void untold_misleading(void (*call)(void), uint64_t decoy);
__asm__(".text\n"
	"untold_misleading:\n\t"
	"pushq %rbp\n\t"
	"movq %rsp, %rbp\n\t"
	"subq $32, %rsp\n\t"
	"movq %rsi, 24(%rsp)\n\t"
	"call *%rdi\n\t"
	"leaq 1f(%rip), %rax\n\t"
	"testq %rsp, %rsp\n\t"
	"jz 2f\n\t"
	"jmp *%rax\n"
	"2:\n\t"
	"addq $24, %rsp\n\t"
	"ret\n"
	"1:\n\t"
	"movq %rbp, %rsp\n\t"
	"popq %rbp\n\t"
	"ret\n");

static void test_misleading(void **state)
{
	(void)state;
	remember_outer();
	untold_misleading(hook, (uintptr_t)untold_branches);
	untold_misleading(hook, 0);
	untold_misleading(hook, (uintptr_t)&state);
	assert_whole(3);
}

static void test_assembly(void **state)
{
	(void)state;
	remember_outer();
	for (int i = 0; i < 3; i++) {
		untold_plain(hook);
		untold_realigned(hook);
		untold_branches(hook, 1);
		untold_branches(hook, -1);
	}
	assert_int_equal(captures, 12);
	assert_int_equal(truncated, 0);
}

static void nothing(void)
{
}

/* As musl begins a thread: the address it would return to is gone, fp is 0, and it never
 * returns. */
void untold_first(void (*call)(void));
__asm__(".text\n"
	"untold_first:\n\t"
	"popq %rax\n\t"
	"xorl %ebp, %ebp\n\t"
	"call *%rdi\n\t"
	"hlt\n");

static jmp_buf target;

static void hook_and_jump(void)
{
	bool cut;

	capture(&cut);
	assert_false(cut);
	assert_int_equal(seen.depth, 2);
	captures++;
	longjmp(target, 1);
}

static void test_first_frame(void **state)
{
	(void)state;
	captures = 0;
	if (!setjmp(target))
		untold_first(hook_and_jump);
	assert_int_equal(captures, 1);
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void step_assembly(void)
{
	set_trap(true);
	untold_plain(nothing);
	untold_realigned(nothing);
	untold_branches(nothing, 1);
	untold_branches(nothing, -1);
	untold_branches(nothing, 0);
	set_trap(false);
}

/* A signal at every instruction. */
static void test_assembly_interrupted(void **state)
{
	(void)state;
	remember_outer();
	with_traps(step_assembly);
	printf("%u instructions, %u truncated\n", captures, truncated);
	assert_true(captures > 60);
	assert_int_equal(truncated, 0);
}

/* musl */

static void *(*musl_bsearch)(const void *, const void *, size_t, size_t,
			     int (*)(const void *, const void *));
static void (*musl_qsort)(void *, size_t, size_t, int (*)(const void *, const void *));

static void *musl_symbol(const char *name)
{
	const Elf64_Ehdr *head = (const void *)musl.memory;
	const Elf64_Phdr *segments = (const void *)(musl.memory + head->e_phoff);
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;

	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Dyn *dynamic = (const void *)(musl.memory + segments[i].p_vaddr);

		for (; segments[i].p_type == PT_DYNAMIC && dynamic->d_tag; dynamic++) {
			if (dynamic->d_tag == DT_SYMTAB)
				symbols = (const void *)(musl.memory + dynamic->d_un.d_ptr);
			if (dynamic->d_tag == DT_STRTAB)
				strings = (const char *)musl.memory + dynamic->d_un.d_ptr;
		}
	}
	for (; symbols && (const char *)symbols < strings; symbols++)
		if (!strcmp(strings + symbols->st_name, name) && symbols->st_value)
			return musl.memory + symbols->st_value;
	return NULL;
}

/* These two functions need nothing that musl's start would have set up. */
static bool musl_open(void)
{
	static const char *const paths[] = {"/lib/ld-musl-x86_64.so.1",
					    "/usr/lib/x86_64-linux-musl/libc.so"};
	uint64_t page = 4095;

	for (size_t i = 0; !musl.memory && i < 2; i++)
		if (!map_file(&musl, paths[i]))
			musl.memory = NULL;
	if (!musl.memory)
		return false;
	assert_int_equal(mprotect((void *)(uintptr_t)(musl.module.start & ~page),
				  (musl.module.end - musl.module.start + page) & ~page,
				  PROT_READ | PROT_EXEC),
			 0);
	*(void **)&musl_qsort = musl_symbol("qsort");
	*(void **)&musl_bsearch = musl_symbol("bsearch");
	return musl_qsort && musl_bsearch;
}

static int by_value(const void *a, const void *b)
{
	hook();
	return *(const int *)a - *(const int *)b;
}

static int by_value_silently(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int values[200];

static void shuffle(void)
{
	for (int i = 0; i < 200; i++)
		values[i] = i * 7919 % 211;
}

static void test_musl_callbacks(void **state)
{
	(void)state;
	if (!musl_open()) {
		puts("SKIPPED: musl is not installed");
		skip();
	}
	shuffle();
	remember_outer();
	musl_qsort(values, 200, sizeof(values[0]), by_value);
	for (int i = 1; i < 200; i++)
		assert_true(values[i - 1] <= values[i]);
	assert_ptr_equal(musl_bsearch(&values[77], values, 200, sizeof(values[0]), by_value),
			 &values[77]);
	printf("%u callbacks, %u truncated\n", captures, truncated);
	assert_true(captures > 1000);
	assert_int_equal(truncated, 0);
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void step_musl(void)
{
	set_trap(true);
	musl_qsort(values, 16, sizeof(values[0]), by_value_silently);
	set_trap(false);
}

static void test_musl_interrupted(void **state)
{
	(void)state;
	if (!musl_qsort)
		skip();
	shuffle();
	remember_outer();
	with_traps(step_musl);
	printf("%u instructions, %u truncated\n", captures, truncated);
	assert_true(captures > 1000);
	assert_true(truncated * 1000 <= captures);
}

static int setup(void **state)
{
	(void)state;
	outer_setup(&untold_host);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assembly),
		cmocka_unit_test(test_misleading),
		cmocka_unit_test(test_assembly_interrupted),
		cmocka_unit_test(test_first_frame),
		cmocka_unit_test(test_musl_callbacks),
		cmocka_unit_test(test_musl_interrupted),
	};

	if (*skip_reason) {
		puts(skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
#else
int main(void)
{
	puts("SKIPPED: code is read on x86-64 only");
	return 77;
}
#endif
