/* prctl and syscall, which the library stands in front of, pass on what they are given; and what a
 * seccomp filter says to the library's own system calls. */
#include "tests/unit/preload/support/run.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/preload/record/filter.h"
#include "agent/preload/system/state.h"

#define LENGTH(array)	   ((unsigned short)(sizeof(array) / sizeof((array)[0])))
#define DATA(member)	   ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(member)	   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(member))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ANSWER(value)	   BPF_STMT(BPF_RET | BPF_K, (value))
#define ALLOW		   ANSWER(SECCOMP_RET_ALLOW)
#define KILL		   ANSWER(SECCOMP_RET_KILL_PROCESS)

static uint32_t refused(struct sock_filter *code, unsigned short length)
{
	const struct sock_fprog program = {.len = length, .filter = code};

	return filter_refuses(&program);
}
#define REFUSED(...)                                                                               \
	refused((struct sock_filter[]){__VA_ARGS__}, LENGTH(((struct sock_filter[]){__VA_ARGS__})))

static void words_are_passed_on(void **state)
{
	static const char *const off[] = {"HEAPCAST_OFF=1", NULL};
	struct agent_options options = {.environment = off,
					.preload_more = target_path("words_behind.so")};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("words"));
	assert_exited(&r, 0);
	assert_int_equal(agent_said(&r, "done"), 1);
	agent_result_done(&r);
}

static void as_libc_does(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("words"));
	assert_exited(&r, 0);
	assert_int_equal(agent_said(&r, "done"), 1);
	assert_nothing_lost(&r);
	agent_result_done(&r);
}

static void answers(void **state)
{
	(void)state;
	assert_int_equal(REFUSED(ALLOW), 0);
	assert_int_equal(REFUSED(ANSWER(SECCOMP_RET_LOG)), 0);
	assert_int_equal(REFUSED(KILL), CALLS_EVERY);
	assert_int_equal(REFUSED(ANSWER(SECCOMP_RET_KILL_THREAD)), CALLS_EVERY);
	assert_int_equal(REFUSED(ANSWER(SECCOMP_RET_TRAP)), CALLS_EVERY);
	assert_int_equal(REFUSED(ANSWER(SECCOMP_RET_ERRNO | EPERM)), CALLS_EVERY);
	assert_int_equal(REFUSED(ANSWER(SECCOMP_RET_USER_NOTIF)), CALLS_EVERY);
	assert_int_equal(REFUSED(LOAD(nr)), CALLS_EVERY); /* no answer */
}

static void single_calls(void **state)
{
	(void)state;
	assert_int_equal(REFUSED(LOAD(nr), IF(SYS_futex, 0, 1), KILL, ALLOW), CALLS_WAIT);
	assert_int_equal(REFUSED(LOAD(nr), IF(SYS_gettid, 0, 1), KILL, ALLOW), CALLS_NUMBERS);
	assert_int_equal(REFUSED(LOAD(nr), IF(SYS_connect, 0, 1), KILL, ALLOW), CALLS_START);
	assert_int_equal(REFUSED(LOAD(nr), IF(SYS_futex, 0, 1), ALLOW, KILL),
			 CALLS_EVERY & ~CALLS_WAIT);
	/* Another processor's calls. */
	assert_int_equal(REFUSED(LOAD(arch), IF(0xffffffffu, 0, 1), KILL, ALLOW), 0);
	assert_int_equal(REFUSED(LOAD(arch), IF(0xffffffffu, 0, 1), ALLOW, KILL), CALLS_EVERY);
}

/* Which of futex's operations; its address nobody knows. */
static void arguments(void **state)
{
	const unsigned low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args) + 8 * (n) + low)

	(void)state;
	assert_int_equal(
		REFUSED(LOAD(nr), IF(SYS_futex, 0, 3), ARGUMENT(1), IF(128, 0, 1), KILL, ALLOW),
		CALLS_WAIT);
	assert_int_equal(
		REFUSED(LOAD(nr), IF(SYS_futex, 0, 3), ARGUMENT(1), IF(5, 0, 1), KILL, ALLOW), 0);
	assert_int_equal(
		REFUSED(LOAD(nr), IF(SYS_futex, 0, 3), ARGUMENT(0), IF(5, 0, 1), KILL, ALLOW),
		CALLS_WAIT);
	assert_int_equal(
		REFUSED(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(instruction_pointer)), ALLOW),
		CALLS_EVERY);
}

/* Each yields 6 of a calculation, if it is done right. */
static void calculations(void **state)
{
#define IMMEDIATE(to, k) BPF_STMT((to) | BPF_W | BPF_IMM, (k))
#define IS_SIX		 IF(6, 0, 1), ALLOW, KILL
#define BY(op, k)	 BPF_STMT(BPF_ALU | (op) | BPF_K, (k))
	(void)state;
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 4), BY(BPF_ADD, 2), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 4), BY(BPF_SUB, 0xfffffffe), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 3), BY(BPF_MUL, 2), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 13), BY(BPF_DIV, 2), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 14), BY(BPF_AND, 6), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 2), BY(BPF_OR, 4), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 3), BY(BPF_XOR, 5), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 3), BY(BPF_LSH, 1), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 12), BY(BPF_RSH, 1), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 0xfffffffa), BY(BPF_NEG, 0), IS_SIX), 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LDX, 2), IMMEDIATE(BPF_LD, 3),
				 BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0), IS_SIX),
			 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 6), BPF_STMT(BPF_MISC | BPF_TAX, 0),
				 IMMEDIATE(BPF_LD, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0), IS_SIX),
			 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 6), BPF_STMT(BPF_ST, 3), IMMEDIATE(BPF_LD, 0),
				 BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3), IS_SIX),
			 0);
	assert_int_equal(REFUSED(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BY(BPF_SUB, 58), IS_SIX),
			 0);
	assert_int_equal(
		REFUSED(IMMEDIATE(BPF_LD, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0)), 0);
	assert_int_equal(
		REFUSED(IMMEDIATE(BPF_LD, 6), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), KILL, IS_SIX),
		0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 6), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 5, 0, 1),
				 ALLOW, KILL),
			 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 6), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 7, 1, 0),
				 ALLOW, KILL),
			 0);
	assert_int_equal(REFUSED(IMMEDIATE(BPF_LD, 6),
				 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1), ALLOW, KILL),
			 0);
}

/* Whatever the program has there is only read. */
static void nonsense(void **state)
{
	struct sock_filter code[64];
	uint32_t number = 1, all = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		for (size_t i = 0; i < LENGTH(code); i++) {
			number = number * 1664525 + 1013904223;
			code[i] = (struct sock_filter){
				(uint16_t)(number >> 16), (uint8_t)(number >> 8),
				(uint8_t)(number >> 24), number * 2654435761u};
		}
		all |= refused(code, LENGTH(code));
	}
	assert_int_equal(all, CALLS_EVERY);
}

/* Does a thread behind this filter live after a gettid? -1: no filters here. */
static int kernel_allows(struct sock_filter *code, unsigned short length)
{
	const struct sock_fprog program = {.len = length, .filter = code};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(77);
		syscall(SYS_gettid);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return -1;
	return WIFEXITED(status);
}

/* All but two calls, and one of them, by a detour: the kernel and we come to the same end. */
static void as_the_kernel(void **state)
{
	for (uint32_t k = 0; k < 8; k++) {
		struct sock_filter code[] = {LOAD(nr),
					     BPF_STMT(BPF_MISC | BPF_TAX, 0),
					     BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 3),
					     BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, k & 3, 0, 3),
					     BPF_STMT(BPF_MISC | BPF_TXA, 0),
					     IF(k & 4 ? SYS_gettid : SYS_getppid, 0, 1),
					     KILL,
					     ALLOW};
		int lives = kernel_allows(code, LENGTH(code));

		(void)state;
		if (lives < 0)
			skip();
		assert_int_equal(lives, !(refused(code, LENGTH(code)) & CALLS_NUMBERS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_passed_on),
		cmocka_unit_test(as_libc_does),
		cmocka_unit_test(answers),
		cmocka_unit_test(single_calls),
		cmocka_unit_test(arguments),
		cmocka_unit_test(calculations),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(as_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
