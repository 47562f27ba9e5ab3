/*
 * Code that may be executed and not read: it is never looked at. Here it may be neither, and who
 * reads it ends. That this test can fail is shown by saying nothing of it to the unwinder.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/unwind/host.h"

#define PAGE 4096u

static struct unwind_module hidden;

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	if (pc >= hidden.start && pc < hidden.end)
		return &hidden;
	return host_find_module(context, pc);
}

static const struct unwind_host hiding_host = {
	.find_module = find_module,
	.stack_bounds = host_stack_bounds,
	.readable = host_readable,
	.pages = host_pages,
};

/* Two pages, of a head and of code. `code` and `head`: what may be done with them. */
static void map_hidden(int head, int code, uint64_t unreadable)
{
	uint8_t *at = mmap(NULL, 2 * PAGE, head, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + PAGE, PAGE, code))
		_exit(2);
	hidden = (struct unwind_module){
		.start = (uintptr_t)at + PAGE,
		.end = (uintptr_t)at + 2 * PAGE,
		.bias = (uintptr_t)at,
		.load_start = (uintptr_t)at,
		.load_end = (uintptr_t)at + 2 * PAGE,
		.unreadable = unreadable,
	};
}

/* A stack whose frames are all in there: walked as if a hook had been called from there. */
static void walk(void)
{
	uint64_t stack[64];
	struct unwind_thread *thread = unwind_thread_init(host_pages(NULL, UNWIND_THREAD_SIZE));
	struct unwind_regs regs = {.pc = hidden.start + 200,
				   .sp = (uintptr_t)stack & ~(uint64_t)15,
				   .fp = (uintptr_t)&stack[8]};
	struct unwind_delta delta;

	for (unsigned i = 0; i < 64; i++)
		stack[i] = i % 2 ? hidden.start + 100 + i : (uintptr_t)&stack[i < 56 ? i + 4 : i];
	unwind_capture(thread, &regs, 64, &delta);
	_exit(delta.depth < 1 || delta.pcs[0] != regs.pc);
}

/* The child's end. */
static int ended(int head, int code, uint64_t unreadable)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		if (unwind_init(&hiding_host))
			_exit(3);
		map_hidden(head, code, unreadable);
		walk();
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void code(void **state)
{
	int status = ended(PROT_READ, PROT_NONE, 0);

	(void)state;
	assert_true(WIFSIGNALED(status));
	status = ended(PROT_READ, PROT_NONE, UNWIND_CODE_UNREADABLE);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void head(void **state)
{
	int status = ended(PROT_NONE, PROT_READ, 0);

	(void)state;
	assert_true(WIFSIGNALED(status));
	status = ended(PROT_NONE, PROT_NONE, UNWIND_CODE_UNREADABLE | UNWIND_HEAD_UNREADABLE);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code),
		cmocka_unit_test(head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
