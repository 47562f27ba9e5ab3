/*
 * What the host permits, tried for real: as whoever runs the test; in children that gave up their
 * rights, each in one way, it must be that way which is named.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ebpf/check.h"
#include "agent/ebpf/rights.h"
#include "agent/ebpf/trial.h"

#define CANNOT 77 /* exit status of a child that can't be brought there */

static bool is_enough(void)
{
	struct rights rights;

	rights_try(&rights);
	if (!rights.enough)
		print_message("no eBPF here: %s\n", rights.of[RIGHT_PROGRAMS].reason
							    ? rights.of[RIGHT_PROGRAMS].reason
							    : "see check");
	return rights.enough;
}

/* Every answer that is "no" has a reason. */
static void answers_are_whole(void **state)
{
	struct rights rights;

	(void)state;
	rights_try(&rights);
	for (unsigned i = 0; i < RIGHTS; i++) {
		assert_non_null(right_name((enum right)i));
		assert_int_equal(rights.of[i].yes, rights.of[i].reason == NULL);
		assert_int_equal(rights.of[i].yes, rights.of[i].error == 0);
	}
}

static void probes_see_every_call(void **state)
{
	struct trial trial;
	uint64_t hits;
	double ns;

	(void)state;
	assert_int_equal(trial_run_filtered(TRIAL_EMULATED), 0); /* not probed */
	if (!is_enough())
		skip();
	for (unsigned kind = 0; kind < TRIAL_KINDS; kind++)
		for (unsigned function = 0; function < 2; function++) {
			if (!trial_begin(&trial, (enum trial_kind)kind,
					 (enum trial_function)function, false)) {
				assert_int_equal(trial_run(&trial, (enum trial_function)function,
							   100, &ns, &hits),
						 0);
				assert_int_equal(hits, kind == TRIAL_SESSION ? 200 : 100);
				assert_int_equal(trial_run(&trial, (enum trial_function) !function,
							   100, &ns, &hits),
						 0);
				assert_int_equal(hits, 0);
			}
			trial_done(&trial);
		}
}

static char *report_of(pid_t pid, int *ret_answer)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*ret_answer = attach_check(out, pid);
	fclose(out);
	return text;
}

static void assert_narrow(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

static void report_of_the_host(void **state)
{
	int answer;
	char *text = report_of(0, &answer);

	(void)state;
	assert_narrow(text);
	assert_non_null(strstr(text, "ring buffer"));
	assert_int_equal(answer, is_enough() ? 0 : 1);
	free(text);
}

static void report_of_a_process(void **state)
{
	int answer;
	char *text = report_of(getpid(), &answer);

	(void)state;
	assert_narrow(text);
	assert_non_null(strstr(text, "malloc"));
	assert_non_null(strstr(text, "not seen:"));
	assert_int_equal(answer, is_enough() ? 0 : 1);
	free(text);
}

static void report_of_nobody(void **state)
{
	pid_t pid = fork();
	int answer;
	char *text;

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	text = report_of(pid, &answer);
	assert_non_null(strstr(text, "no such process"));
	assert_int_equal(answer, 1);
	free(text);
}

static bool as_plain_user(void)
{
	return !geteuid() && !setgid(65534) && !setuid(65534);
}

static bool in_namespace(void)
{
	return !unshare(CLONE_NEWUSER);
}

/* bpf() answers EPERM, as in a container. */
static bool behind_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !geteuid() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* 0: it is refused for that reason. */
static int reason_in_child(bool (*give_up)(void), const char *reason)
{
	struct rights rights;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!give_up())
			_exit(CANNOT);
		rights_try(&rights);
		_exit(rights.enough || !rights.of[RIGHT_PROGRAMS].reason ||
		      !strstr(rights.of[RIGHT_PROGRAMS].reason, reason));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void what_is_missing_is_named(void **state)
{
	static const struct {
		bool (*give_up)(void);
		const char *reason;
	} ways[] = {
		{as_plain_user, "the rights are missing"},
		{in_namespace, "user namespace"},
		{behind_filter, "seccomp"},
	};

	(void)state;
	if (!is_enough())
		skip();
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int answer = reason_in_child(ways[i].give_up, ways[i].reason);

		if (answer == CANNOT)
			print_message("can't be tried here: %s\n", ways[i].reason);
		else
			assert_int_equal(answer, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_whole),  cmocka_unit_test(probes_see_every_call),
		cmocka_unit_test(report_of_the_host), cmocka_unit_test(report_of_a_process),
		cmocka_unit_test(report_of_nobody),   cmocka_unit_test(what_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
