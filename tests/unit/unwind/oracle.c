/* Stacks of known shapes against glibc's backtrace and libunwind: callbacks out of libc, recursion,
 * alloca, code that uses rbp as a general register, realigned stacks, signal handlers on the same
 * and on another stack, lazy binding, coroutines. */
#include "tests/unit/unwind/host.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#pragma GCC diagnostic ignored "-Walloca" /* these are what is tested */
#pragma GCC diagnostic ignored "-Winfinite-recursion"

static struct unwind_thread *incremental, *full;
static struct consumer seen;
static uint64_t captures;
static volatile unsigned sink;
static bool interrupted; /* there is a signal frame on the stack: others give the interrupted pc, we
			    one more */
static bool oracles = true;
static int (*libc_backtrace)(void **, int); /* libunwind exports one of that name too */

/* `theirs` is innermost first and begins somewhere below the hook. */
static void compare(const char *name, const struct consumer *ours, void *const *theirs, int count,
		    uint64_t first)
{
	int at = 0;

	while (at < count && (uint64_t)theirs[at] != first)
		at++;
	if (at == count)
		fail_msg("%s does not have the hook's caller", name);
	for (uint32_t i = 0; i < ours->depth || at < count; i++, at++) {
		uint64_t mine = i < ours->depth ? ours->pcs[ours->depth - 1 - i] : 0;
		uint64_t other = at < count ? (uint64_t)theirs[at] : 0;

		if (mine == other || (interrupted && mine == other + 1))
			continue;
		if (!mine && i == ours->depth && at + 1 == count && other < 4096)
			return; /* a trailing 0 or 1 of theirs */
		show("ours", ours->pcs, ours->depth);
		for (int k = 0; k < count; k++)
			fprintf(stderr, "  %s %d %p\n", name, k, theirs[k]);
		fail_msg("differs from %s", name);
	}
}

static void compare_with_others(const struct consumer *ours, uint64_t first)
{
	void *pcs[UNWIND_MAX_DEPTH];

	if (ours->depth > 900)
		return;
	compare("backtrace", ours, pcs, libc_backtrace(pcs, UNWIND_MAX_DEPTH), first);
#ifdef HAVE_LIBUNWIND
	compare("libunwind", ours, pcs, unw_backtrace(pcs, UNWIND_MAX_DEPTH), first);
#endif
}

/* The hook. */
static NOINLINE void hook(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta;
	struct consumer whole = {.depth = 0};

	unwind_regs_here(&regs);
	unwind_capture(incremental, &regs, UNWIND_MAX_DEPTH, &delta);
	assert_int_equal(delta.flags & UNWIND_TRUNCATED, 0);
	consume(&seen, &delta);
	unwind_capture_full(full, &regs, UNWIND_MAX_DEPTH, &delta);
	assert_int_equal(delta.keep, 0);
	consume(&whole, &delta);
	assert_same_stack(&seen, &whole, "incremental and full walk differ");
	captures++;
	if (oracles)
		compare_with_others(&whole, regs.pc);
	__asm__ volatile("");
}

static int by_value(const void *a, const void *b)
{
	hook();
	return *(const int *)a - *(const int *)b;
}

static void test_callback(void **state)
{
	int values[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		values[i] = i * 7919 % 101;
	qsort(values, 20, sizeof(values[0]), by_value);
}

static NOINLINE unsigned recurse(unsigned depth)
{
	volatile char pad[64];

	pad[depth % 64] = 1;
	if (depth)
		sink += recurse(depth - 1);
	hook();
	return sink + (unsigned)pad[depth % 64];
}

static void test_recursion(void **state)
{
	(void)state;
	recurse(1);
	recurse(50);
	recurse(300);
}

static NOINLINE void with_variable_array(unsigned depth, unsigned words)
{
	volatile uint64_t *array = __builtin_alloca(words * 8);

	array[0] = depth;
	if (depth)
		with_variable_array(depth - 1, words + 3);
	hook();
	sink += (unsigned)array[0];
}

static void test_alloca(void **state)
{
	(void)state;
	with_variable_array(12, 1);
}

#ifdef __x86_64__
/* rbp holds anything but a frame pointer while the call is made, and the cfa hangs on rbx: the row
 * that needs all registers. */
void rbp_is_general(void (*call)(void));
__asm__(".text\n"
	".type rbp_is_general, @function\n"
	"rbp_is_general:\n\t"
	".cfi_startproc\n\t"
	"pushq %rbp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	".cfi_rel_offset %rbp, 0\n\t"
	"pushq %rbx\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	".cfi_rel_offset %rbx, 0\n\t"
	"movq $0x1234567, %rbp\n\t"
	"movq %rsp, %rbx\n\t"
	".cfi_def_cfa_register %rbx\n\t"
	"andq $-64, %rsp\n\t"
	"call *%rdi\n\t"
	"movq %rbx, %rsp\n\t"
	".cfi_def_cfa_register %rsp\n\t"
	"popq %rbx\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	".cfi_restore %rbx\n\t"
	"popq %rbp\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	".cfi_restore %rbp\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size rbp_is_general, . - rbp_is_general\n");
#endif

/* Callee-saved registers in use, so that the frames between save and restore them. */
static NOINLINE unsigned uses_registers(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	unsigned x = a * b, y = c * d, z = e * a, w = b ^ c, v = d + e;

	hook();
	return x + y * 3 + (z ^ w) + v;
}

static void through_registers(void)
{
	sink += uses_registers(1, 2, 3, 4, sink);
}

static NOINLINE __attribute__((target("avx"))) void realigned(void)
{
	volatile char block[64] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca(32 + sink % 64);

	block[0] = more[0] = 1;
	hook();
	sink += (unsigned)block[0];
}

static void test_realigned(void **state)
{
	(void)state;
	realigned();
	realigned();
}

static void handler(int number)
{
	(void)number;
	interrupted = true;
	hook();
	recurse(3);
	interrupted = false;
}

static NOINLINE void raise_here(int number)
{
	raise(number);
	hook();
}

/* An instruction that traps: the interrupted pc is no return address, and it may be a function's
 * first. */
static NOINLINE void trap_here(void)
{
	__asm__ volatile("int3");
	hook();
}

static void on_stack(int number, int flags, void (*run)(int))
{
	struct sigaction action = {.sa_handler = run, .sa_flags = flags}, old;

	sigaction(number, &action, &old);
	raise_here(number);
	recurse(2);
	if (number == SIGTRAP)
		trap_here();
	raise_here(number);
	sigaction(number, &old, NULL);
}

static void test_signal(void **state)
{
	(void)state;
	on_stack(SIGUSR1, 0, handler);
	on_stack(SIGTRAP, 0, handler);
}

static void test_alternate_stack(void **state)
{
	static char memory[1 << 20] __attribute__((aligned(4096))); /* below the stack */
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, old;

	(void)state;
	assert_int_equal(sigaltstack(&stack, &old), 0);
	on_stack(SIGUSR2, SA_ONSTACK, handler); /* bounds not known */
	host_add_stack(memory, sizeof(memory));
	unwind_modules_changed(); /* asks again */
	on_stack(SIGTRAP, SA_ONSTACK, handler);
	sigaltstack(&old, NULL);
	host_stack_count--;
	unwind_modules_changed();
}

static jmp_buf target;

static NOINLINE void jump_out(unsigned depth)
{
	volatile char pad[100];

	pad[0] = (char)depth;
	hook();
	if (!depth)
		longjmp(target, 1);
	jump_out(depth - 1);
	sink += (unsigned)pad[0];
}

static void test_longjmp(void **state)
{
	(void)state;
	for (volatile int i = 0; i < 10; i++) {
		if (!setjmp(target))
			jump_out((unsigned)i);
		hook();
	}
}

static ucontext_t main_context, coroutine;

static void coroutine_body(void)
{
	recurse(4);
	swapcontext(&coroutine, &main_context);
	recurse(6);
}

/* Others walk off such stacks: ours must end, and incremental must equal full. */
static void test_coroutine(void **state)
{
	(void)state;
	oracles = false;
	for (size_t size = 65536; size <= 1 << 20; size *= 2) {
		void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = stack;
		coroutine.uc_stack.ss_size = size;
		coroutine.uc_link = &main_context;
		makecontext(&coroutine, coroutine_body, 0);
		swapcontext(&main_context, &coroutine);
		hook();
		swapcontext(&main_context, &coroutine);
		munmap(stack, size);
		hook();
	}
	oracles = true;
}

#ifdef __x86_64__
static void test_registers(void **state)
{
	(void)state;
	rbp_is_general(hook);
	rbp_is_general(through_registers);
	through_registers();
	rbp_is_general(through_registers);
}

/* Traps on every instruction of a lazily bound call: PLT entries, the loader's resolver, prologues
 * and epilogues. */
static unsigned steps;

static void step_handler(int number)
{
	steps++;
	handler(number);
}

static void set_trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void single_steps(void)
{
	char text[32];

	set_trap(true);
	sink += (unsigned)strtol("42", NULL, 10);
	confstr(_CS_PATH, text, sizeof(text));
	set_trap(false);
}

static void test_every_instruction(void **state)
{
	struct sigaction action = {.sa_handler = step_handler}, old;

	(void)state;
	sigaction(SIGTRAP, &action, &old);
	single_steps();
	single_steps();
	sigaction(SIGTRAP, &old, NULL);
	assert_true(steps > 100);
}
#endif

static void *thread_main(void *context)
{
	host_know_stack();
	recurse(5);
	return context;
}

static void test_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	pthread_join(thread, NULL);
}

static void test_bounds_are_asked_once(void **state)
{
	unsigned before;

	(void)state;
	recurse(3);
	before = host_bounds_asked;
	recurse(100);
	assert_int_equal(host_bounds_asked, before);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(unwind_init(&test_host), 0);
	libc_backtrace = (int (*)(void **, int))dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	assert_non_null(libc_backtrace);
	incremental = new_unwind_thread();
	full = new_unwind_thread();
	host_know_stack();
	return 0;
}

/* An argument: only the tests of that pattern. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callback),  cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_alloca),	  cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_signal),	  cmocka_unit_test(test_alternate_stack),
		cmocka_unit_test(test_longjmp),	  cmocka_unit_test(test_coroutine),
#ifdef __x86_64__
		cmocka_unit_test(test_registers), cmocka_unit_test(test_every_instruction),
#endif
		cmocka_unit_test(test_thread),	  cmocka_unit_test(test_bounds_are_asked_once),
	};

	if (*skip_reason) {
		puts(skip_reason);
		return 77;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, setup, NULL);
}
