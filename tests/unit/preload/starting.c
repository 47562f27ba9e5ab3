/* Finding an agent: started by the shim as nobody's child; nobody there; switched off; a setuid
 * program. */
#include "tests/unit/preload/support/run.h"
#include "proto/ring_handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

/* The agent writes on when the program has ended already. */
static void assert_said(struct run *r, const char *line)
{
	for (int i = 0; i < 1000 && !strstr(r->report, line); i++) {
		usleep(10000);
		read_whole(report_path, r->report, sizeof(r->report));
	}
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
	assert_said(&r, " --socket @heapcast-0-");
	assert_said(&r, " --linger-idle 10s \n");
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

/* One that says that its answer takes longer than the second that one waits for it. */
static void slow_agent(void **state)
{
	struct run r;

	(void)state;
	setenv("HEAPCAST_TEST_WAIT", "1600", 1);
	RUN_ALONE(&r, false, agent_variable(), target_path("churn"), "1000");
	unsetenv("HEAPCAST_TEST_WAIT");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.seconds > 1.5);
	assert_said(&r, "told 1\n");
}

/* A program that is no agent. */
static char *script(const char *text)
{
	static char variable[128];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/script", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	fclose(file);
	assert_int_equal(chmod(path, 0700), 0);
	snprintf(variable, sizeof(variable), "HEAPCAST_AGENT=%s", path);
	return variable;
}

/* An agent that never answers: the program begins after two seconds. */
static void silent_agent(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, false, script("exec sleep 3"), target_path("fork_all"));
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.seconds > 1.5 && r.seconds < 8); /* it and the two programs that it runs */
	assert_non_null(strstr(r.output, "others 0"));
}

/* One that fails, is killed, or cannot be run at all, costs nothing. */
static void failing_agent(void **state)
{
	struct run r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		const char *const texts[] = {"exit 1", "kill -9 $$", ""};
		char *variable = script(texts[i]);

		if (i == 2)
			assert_int_equal(truncate(strchr(variable, '=') + 1, 0), 0);
		RUN_ALONE(&r, false, variable, target_path("fork_all"));
		assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
		assert_true(r.seconds < 0.5);
		assert_non_null(strstr(r.output, "good 4"));
		assert_non_null(strstr(r.output, "others 0"));
	}
	RUN_ALONE(&r, false, script("exit 1"), target_path("closer"));
	assert_non_null(strstr(r.output, "open 0\ndescriptor 3"));
}

/* One that ends well has found another serving: that one is given half a second to answer. */
static void agent_left(void **state)
{
	struct run r;

	(void)state;
	RUN_ALONE(&r, false, script("exit 0"), target_path("churn"), "1000");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.seconds > 0.4 && r.seconds < 1.5);
}

/* In PATH a program called "agent" is somebody else's. */
static void strange_agent_in_path(void **state)
{
	const char *const argv[] = {target_path("churn"), "1000", NULL};
	char path[128], preload[128], command[1400];
	const char *environment[] = {path, preload, NULL};
	struct run r;

	(void)state;
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/libheapcast.so", folder);
	snprintf(command, sizeof(command), "mkdir %s/path && cp %s %s && cp %s %s/path/agent",
		 folder, preload_path(), folder, target_path("fake_agent"), folder);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "PATH=%s/path", folder);
	run(argv, environment, false, &r);
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_string_equal(r.report, "");
	snprintf(command, sizeof(command), "mv %s/path/agent %s/path/heapcast-agent", folder,
		 folder);
	assert_int_equal(system(command), 0);
	run(argv, environment, false, &r);
	assert_said(&r, "hello ");
}

/* A program that has inherited one end of a pair, and this value in HEAPCAST_FD. */
static pid_t start_with_socket(int fd, const char *inode)
{
	char agent[] = "HEAPCAST_AGENT=/nonexistent", variable[64];
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
	snprintf(variable, sizeof(variable), "HEAPCAST_FD=%d%s", fd, inode);
	setenv("LD_PRELOAD", preload_path(), 1);
	unsetenv("HEAPCAST_SOCKET");
	putenv(variable);
	putenv(agent);
	execl(target_path("churn"), "churn", "1000", NULL);
	_exit(127);
}

static void assert_ends_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* HEAPCAST_FD came down to the program, but what has its number now is another socket: not a byte
 * is written to it. */
static void strange_socket(void **state)
{
	const char *const inodes[] = {"", ":", ":1", ":x", ":99999999999999999999"};
	char byte;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t i = 0; i < sizeof(inodes) / sizeof(*inodes); i++) {
		assert_ends_well(start_with_socket(pair[1], inodes[i]));
		assert_true(recv(pair[0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	}
	close(pair[0]);
	close(pair[1]);
}

static void inherited_socket(void **state)
{
	struct ring_hello hello;
	struct stat end;
	char inode[32];
	int pair[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(fstat(pair[1], &end), 0);
	snprintf(inode, sizeof(inode), ":%lu", (unsigned long)end.st_ino);
	pid = start_with_socket(pair[1], inode);
	close(pair[1]);
	assert_int_equal(recv(pair[0], &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(hello.pid, pid);
	close(pair[0]);
	assert_ends_well(pid);
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
		cmocka_unit_test(starts_an_agent),
		cmocka_unit_test(not_under_a_subreaper),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(slow_agent),
		cmocka_unit_test(silent_agent),
		cmocka_unit_test(failing_agent),
		cmocka_unit_test(agent_left),
		cmocka_unit_test(strange_agent_in_path),
		cmocka_unit_test(strange_socket),
		cmocka_unit_test(inherited_socket),
		cmocka_unit_test(switched_off),
		cmocka_unit_test(setuid_program),
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
