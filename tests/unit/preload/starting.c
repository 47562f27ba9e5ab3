/* Finding an agent: started by the shim as nobody's child; nobody there; switched off; a setuid
 * program. */
#include "tests/unit/preload/support/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIPPED 77

struct run {
	int status;
	double seconds;
	char output[2048];
	char report[2048];
};

static char folder[] = "/tmp/heapcast-starting-XXXXXX";
static char report_path[64];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_whole(const char *path, char *to, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t got = file ? fread(to, 1, size - 1, file) : 0;

	to[got] = 0;
	if (file)
		fclose(file);
}

static void become(const char *const argv[], const char *const environment[], const char *output,
		   bool subreaper)
{
	int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	sigset_t mask;

	dup2(fd, 1);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (subreaper)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	unsetenv("HEAPCAST_FD");
	unsetenv("HEAPCAST_SOCKET");
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("HEAPCAST_TEST_REPORT", report_path, 1);
	setenv("LD_PRELOAD", preload_path(), 1);
	for (; *environment; environment++)
		putenv(strdup(*environment));
	execv(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

static void run(const char *const argv[], const char *const environment[], bool subreaper,
		struct run *ret_run)
{
	char output[64];
	double start = now();
	pid_t pid;

	snprintf(output, sizeof(output), "%s/output", folder);
	unlink(report_path);
	pid = fork();
	if (!pid)
		become(argv, environment, output, subreaper);
	waitpid(pid, &ret_run->status, 0);
	ret_run->seconds = now() - start;
	read_whole(output, ret_run->output, sizeof(ret_run->output));
	for (int i = 0; i < 100; i++) {
		read_whole(report_path, ret_run->report, sizeof(ret_run->report));
		if (!*ret_run->report || strstr(ret_run->report, "hello"))
			break;
		usleep(10000);
	}
}

#define RUN_ALONE(r, subreaper, environment, ...)                                                  \
	run((const char *const[]){__VA_ARGS__, NULL}, (const char *const[]){environment, NULL},    \
	    subreaper, (r))

static void assert_said(const struct run *r, const char *line)
{
	if (!strstr(r->report, line))
		print_error("\"%s\" is not in the report:\n%s\n", line, r->report);
	assert_non_null(strstr(r->report, line));
}

static char *agent_variable(void)
{
	static char text[600];

	snprintf(text, sizeof(text), "HEAPCAST_AGENT=%s", target_path("fake_agent"));
	return text;
}

static void starts_an_agent(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, false, agent_variable(), target_path("fork_all"));
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_non_null(strstr(r.output, "good 4"));
	assert_non_null(strstr(r.output, "others 0"));
	assert_said(&r, "serve --for-pid ");
	assert_said(&r, " --socket @heapcast-0 --linger-idle 10s \n");
	assert_said(&r, "beyond 0\n");
	assert_said(&r, "null 1\n");
	assert_said(&r, "preload 0\n");
	assert_said(&r, "blocked 0\n");
	assert_said(&r, "ignored 0\n");
	assert_said(&r, "hello ");
	assert_null(strstr(r.report, "hello 0\n"));
}

static void not_under_a_subreaper(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, true, agent_variable(), target_path("churn"), "1000");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_string_equal(r.report, "");
}

static void nobody_there(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, false, "HEAPCAST_AGENT=/nonexistent", target_path("churn"), "100000", "4");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.seconds < 1);
	RUN_ALONE(&r, false, "HEAPCAST_AGENT=/nonexistent", target_path("closer"));
	assert_non_null(strstr(r.output, "open 0\ndescriptor 3"));
}

/* An agent that never answers: the program begins after two seconds. */
static void silent_agent(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, false, "HEAPCAST_AGENT=/bin/true", target_path("churn"), "1000");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.seconds > 1.5 && r.seconds < 4);
}

static void switched_off(void **state)
{
	char off[] = "HEAPCAST_OFF=1";
	const char *const environment[] = {agent_variable(), off, NULL};
	const char *const argv[] = {target_path("churn"), "1000", NULL};
	struct run r;

	(void)state;
	run(argv, environment, false, &r);
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_string_equal(r.report, "");
}

/* A copy of the program, another user's, with these permissions. */
static void copy_program(const char *name, const char *mode, char *ret_copy, size_t size)
{
	char command[700];

	snprintf(ret_copy, size, "%s/%s", folder, name);
	snprintf(command, sizeof(command),
		 "cp -f %s %s && chown 65534 %s && chmod %s %s && chmod 755 %s", target_path(name),
		 ret_copy, ret_copy, mode, ret_copy, folder);
	assert_int_equal(system(command), 0);
}

/* The loader drops a preloaded library that it is given by path: nobody is started, and the program
 * runs as ever. */
static void setuid_program(void **state)
{
	char copy[64];
	struct run r;

	(void)state;
	if (getuid())
		skip();
	copy_program("churn", "4755", copy, sizeof(copy));
	RUN_ALONE(&r, false, agent_variable(), copy, "1000");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_string_equal(r.report, "");
}

/* A library that the program itself is linked with (or that is setuid too, in the system's folders)
 * stays: then AT_SECURE stops us. Not setuid the same file starts an agent. */
static void setuid_program_that_loads_us(void **state)
{
	char copy[64];
	struct run r;

	(void)state;
	if (getuid())
		skip();
	copy_program("linked", "0755", copy, sizeof(copy));
	RUN_ALONE(&r, false, agent_variable(), copy, "1000");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_said(&r, "hello ");
	copy_program("linked", "4755", copy, sizeof(copy));
	RUN_ALONE(&r, false, agent_variable(), copy, "1000");
	if (WIFEXITED(r.status) && WEXITSTATUS(r.status) == 127) {
		print_message("another user cannot read the build folder: not tried\n");
		skip();
	}
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_string_equal(r.report, "");
}

static int clean_up(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_an_agent), cmocka_unit_test(not_under_a_subreaper),
		cmocka_unit_test(nobody_there),	   cmocka_unit_test(silent_agent),
		cmocka_unit_test(switched_off),	   cmocka_unit_test(setuid_program),
		cmocka_unit_test(setuid_program_that_loads_us),
	};

	if (access("/run/heapcast/agent.sock", F_OK) == 0) {
		puts("SKIPPED: an agent runs on this machine, and would answer");
		return SKIPPED;
	}
	/* Abstract sockets belong to the network namespace: there is no other user's agent in a new
	 * one. */
	if (geteuid() != 0 || unshare(CLONE_NEWNET)) {
		printf("SKIPPED: no network namespace of its own: %s\n",
		       geteuid() ? "not root" : strerror(errno));
		return SKIPPED;
	}
	if (!mkdtemp(folder))
		return 1;
	snprintf(report_path, sizeof(report_path), "%s/report", folder);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
