/*
 * AArch64: return addresses with signatures (PAC), in a program and a library that are compiled so
 * (unwind.cmake). Their functions note where they return to; a stack must be that, address by
 * address. Needs a processor that signs, as qemu's "max" does.
 */
#include "tests/unit/unwind/outer.h"

#include <asm/hwcap.h>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/unwind/shapes/signed.h"

static struct descent descent;
static uintptr_t bottom_return;

/* The descent's addresses stand behind `inner` frames. */
static void assert_descent(unsigned inner)
{
	assert_true(seen.depth > inner + descent.count);
	for (unsigned i = 0; i < descent.count; i++) {
		uint64_t found = seen.pcs[seen.depth - 1 - inner - i];
		uint64_t expected = descent.returns[descent.count - 1 - i];

		if (found == expected)
			continue;
		show("got", seen.pcs, seen.depth);
		fail_msg("frame %u is %#llx, not %#llx", inner + i, (unsigned long long)found,
			 (unsigned long long)expected);
	}
	captures++;
}

static __attribute__((noipa)) void bottom(void)
{
	bool cut;

	bottom_return = (uintptr_t)__builtin_return_address(0);
	for (int i = 0; i < 3; i++) { /* in full, and twice on top of what is known */
		capture(&cut);
		assert_false(cut);
		assert_int_equal(seen.pcs[seen.depth - 2], bottom_return);
		assert_descent(2);
	}
}

static __attribute__((noipa)) void run(void (*descend)(struct descent *, unsigned),
				       void (*call)(void))
{
	unsigned addresses = 0, signatures = 0;

	if (!(getauxval(AT_HWCAP) & HWCAP_PACA)) {
		printf("SKIPPED: this processor does not sign return addresses\n");
		skip();
	}
	for (unsigned depth = 0; depth < 8; depth++) {
		descent = (struct descent){.bottom = call};
		descend(&descent, depth);
		assert_int_equal(descent.count, depth + 1);
		addresses += descent.count;
		signatures += descent.signed_count;
	}
	assert_int_equal(addresses, 36);
	assert_true(signatures > 18); /* one has some seven bits, which may all be as without */
}

static void test_program(void **state)
{
	(void)state;
	captures = 0;
	run(descend_program, bottom);
	assert_int_equal(captures, 24);
}

static void test_library(void **state)
{
	char path[4096], *slash;
	void (*descend)(struct descent *, unsigned);
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *handle;

	(void)state;
	assert_true(length > 0);
	path[length] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 64, "/unwind-shapes/signed.so");
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	*(void **)&descend = dlsym(handle, "descend_library");
	assert_non_null(descend);
	host_module_count = 0; /* look again */
	unwind_modules_changed();
	captures = 0;
	run(descend, bottom);
	assert_int_equal(captures, 24);
	host_module_count = 0;
	dlclose(handle);
	unwind_modules_changed();
}

/* Signed, and not saved yet: the address is in x30 alone. */
void interrupted_signed(void);
__asm__(".text\n\t.type interrupted_signed, %function\n"
	"interrupted_signed:\n\t"
	".cfi_startproc\n\t"
	"paciasp\n\t"
	".cfi_negate_ra_state\n\t"
	"udf #0\n\t"
	"autiasp\n\t"
	".cfi_negate_ra_state\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size interrupted_signed, . - interrupted_signed");

static void illegal(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	uint64_t pc = interrupted->uc_mcontext.pc;
	unsigned inner = 0;
	bool cut;

	(void)number;
	(void)info;
	capture(&cut);
	assert_false(cut);
	while (inner < seen.depth && seen.pcs[seen.depth - 1 - inner] - pc > 4)
		inner++;
	if (inner == seen.depth)
		show("got", seen.pcs, seen.depth);
	assert_true(inner < seen.depth);
	/* the interrupted one, the place in bottom_interrupted, and what that returns to */
	assert_int_equal(seen.pcs[seen.depth - 3 - inner], bottom_return);
	assert_descent(inner + 3);
	interrupted->uc_mcontext.pc += 4;
}

static __attribute__((noipa)) void bottom_interrupted(void)
{
	bottom_return = (uintptr_t)__builtin_return_address(0);
	interrupted_signed();
	__asm__ volatile("" : : : "memory");
}

/* The end of the handler, as kernels have it in a page of theirs; where qemu has it, nothing stands
 * before it, and it is not found. */
void handler_return(void);
__asm__(".text\n\tnop\n"
	"handler_return:\n\t"
	"mov x8, #139\n\t"
	"svc #0");

/* struct kernel_sigaction of Linux (asm-generic/signal.h), which glibc fills in without the
 * restorer. */
struct kernel_action {
	void (*handler)(int number, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};
#define WITH_RESTORER 0x04000000ul

static void test_interrupted(void **state)
{
	struct kernel_action action = {illegal, SA_SIGINFO | WITH_RESTORER, handler_return, 0}, old;

	(void)state;
	captures = 0;
	assert_int_equal(syscall(SYS_rt_sigaction, SIGILL, &action, &old, sizeof(action.mask)), 0);
	run(descend_program, bottom_interrupted);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGILL, &old, NULL, sizeof(action.mask)), 0);
	assert_int_equal(captures, 8);
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
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
