/* The code that ends signal handlers, while it runs: another signal may come there. */
#include "tests/unit/unwind/host.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/rows.h"

#define SYSCALL_AT 7 /* behind mov $15, %rax */

/* As the kernel has it. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void handle(int number)
{
	(void)number;
}

/* Wherever it is interrupted, what it returns to is in the frame that the kernel has made. */
static void test_interrupted(void **state)
{
	struct kernel_sigaction kernel = {0};
	const struct unwind_module *module;
	struct unwind_thread *thread;
	struct eh_entry entry;
	uint64_t at;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL), 0);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &kernel, sizeof(kernel.mask)), 0);
	at = (uintptr_t)kernel.restorer;
	assert_int_equal(unwind_init(&test_host), 0);
	thread = new_unwind_thread();
	module = host_find_module(NULL, at);
	assert_non_null(module);
	if (eh_frame_find(module, at, &entry) || !entry.signal)
		skip(); /* this libc says nothing of it */
	assert_true(row_is(rows_decode(at), ROW_SIGNAL));
	assert_true(row_is(rows_interrupted(thread, at), ROW_SIGNAL));
	assert_true(row_is(rows_interrupted(thread, at + SYSCALL_AT), ROW_SIGNAL));
	assert_false(row_is(rows_decode(at + entry.end - entry.start + 64), ROW_SIGNAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
