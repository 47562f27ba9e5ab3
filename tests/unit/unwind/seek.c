/* unwind_seek: a frame that is on the stack, one that was left, and what an interrupted thread does
 * not know yet. */
#include "tests/unit/unwind/host.h"

#include <signal.h>

/* What else may be said below a handler. On AArch64 an emulator's own code ends it, at the very
 * start of a page that is no module's. */
#if defined(__aarch64__)
#define BELOW_A_HANDLER UNWIND_UNSURE
#else
#define BELOW_A_HANDLER UNWIND_THERE
#endif

static struct unwind_thread *seeker, *reader;
static struct unwind_regs sought;
static enum unwind_sought answer;
static bool nothing_known;

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	return nothing_known ? NULL : host_find_module(context, pc);
}

static NOINLINE void seek(void)
{
	struct unwind_regs here;

	unwind_regs_here(&here);
	answer = unwind_seek(seeker, &here, &sought);
	__asm__ volatile("");
}

static NOINLINE void below(unsigned depth)
{
	if (depth)
		below(depth - 1);
	else
		seek();
	__asm__ volatile("");
}

static int compared(const void *a, const void *b)
{
	(void)a;
	(void)b;
	below(20);
	return 0;
}

static void handler(int number)
{
	(void)number;
	below(3);
}

/* What a hook is here: a function whose caller is noted, and which calls what has to be found. */
static NOINLINE void hook(void (*call)(void))
{
	unwind_regs_here(&sought);
	call();
	__asm__ volatile("");
}

static void through_libc(void)
{
	int numbers[2] = {2, 1};

	qsort(numbers, 2, sizeof(numbers[0]), compared);
}

static void through_a_signal(void)
{
	raise(SIGUSR1);
}

static void nothing(void)
{
}

static void test_there(void **state)
{
	(void)state;
	hook(through_libc);
	assert_int_equal(answer, UNWIND_THERE);
}

static void test_there_below_a_handler(void **state)
{
	struct sigaction action = {.sa_handler = handler};

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	hook(through_a_signal);
	assert_true(answer == UNWIND_THERE || answer == BELOW_A_HANDLER);
}

/* Deeper than it was, and not as deep. */
static void test_left(void **state)
{
	(void)state;
	hook(nothing);
	through_libc();
	assert_int_equal(answer, UNWIND_ABSENT);
	hook(nothing);
	seek();
	assert_int_equal(answer, UNWIND_ABSENT);
}

/* Nothing is concluded from code in no module, and nobody is told that it has none. */
static void test_not_known_yet(void **state)
{
	struct unwind_regs regs;
	struct unwind_delta delta;

	(void)state;
	unwind_modules_changed();
	nothing_known = true;
	hook(through_libc);
	assert_int_equal(answer, UNWIND_UNSURE);
	nothing_known = false;
	hook(through_libc);
	assert_int_equal(answer, UNWIND_THERE);
	unwind_regs_here(&regs);
	unwind_capture(reader, &regs, UNWIND_MAX_DEPTH, &delta);
	assert_false(delta.flags & UNWIND_TRUNCATED);
}

static int setup(void **state)
{
	static struct unwind_host host;

	(void)state;
	host = test_host;
	host.find_module = find_module;
	assert_int_equal(unwind_init(&host), 0);
	seeker = new_unwind_thread();
	reader = new_unwind_thread();
	host_know_stack();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there),
		cmocka_unit_test(test_there_below_a_handler),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_not_known_yet),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
