/* Starts the collector to answer questions about a recording. See answer.h. */
#include "agent/cli/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli/program.h"
#include "base/ban.h"

#define WAIT_MS		 1000
#define BUSY_WAIT_MS	 3000
#define STEP_MS		 5
#define EXIT_NOT_STARTED 127

extern char **environ;

bool answer_possible(void)
{
	char path[PATH_MAX];

	return !strcmp(program_title(), PROGRAM_HEAPCAST) &&
	       !program_beside(PROGRAM_COLLECTOR, path);
}

/* Starts the collector with `arguments`, its output on our standard error. `input` is its standard
 * input; Ctrl-C does not reach the collector then. With -1 it has our standard input. Returns its
 * pid, or 0. */
static pid_t answer_start(const char *const arguments[], int input)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char path[PATH_MAX];
	pid_t pid = 0;

	if (program_beside(PROGRAM_COLLECTOR, path) < 0)
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (input >= 0) {
		posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	}
	if (posix_spawn(&pid, path, &actions, &attributes, (char *const *)(uintptr_t)arguments,
			environ))
		pid = 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

void answer_begin(struct answer *answer, const char *path)
{
	const char *const arguments[] = {PROGRAM_HEAPCAST, "summary", "--follow", "--", path, NULL};
	int ends[2];

	if (answer->pid || pipe2(ends, O_CLOEXEC) < 0)
		return;
	answer->pid = answer_start(arguments, ends[0]);
	answer->end = ends[1];
	close(ends[0]);
	if (!answer->pid)
		close(ends[1]);
}

/* Returns true if the collector has got less than half of WAIT_MS of CPU time: the machine is
 * busy. */
static bool was_starved(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	return !clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used) && !used.tv_sec &&
	       used.tv_nsec < WAIT_MS * 1000000ll / 2;
}

enum answer_end answer_end(struct answer *answer)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	pid_t pid = answer->pid;
	int status = -1;

	if (!pid)
		return ANSWER_FAILED;
	close(answer->end);
	answer->pid = 0;
	for (int ms = 0; ms < WAIT_MS || (ms < BUSY_WAIT_MS && was_starved(pid)); ms += STEP_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status) ? ANSWER_GIVEN
									 : ANSWER_FAILED;
		nanosleep(&step, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return ANSWER_LATE;
}

/* ---- a command, for as long as it takes ---- */

static volatile pid_t answering; /* 0: none; for pass_on */

/* Passes a signal to the command that answers, because the agent itself no longer serves. */
static void pass_on(int number)
{
	if (answering > 0)
		kill(answering, number);
}

/* The signals that are passed on. The terminal sends those of Ctrl-C and Ctrl-\ to the command,
 * too, because it is in our process group. An ignored signal (nohup) stays ignored. */
static const int passed_on[] = {SIGTERM, SIGHUP};
#define PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

static void pass_signals_on(struct sigaction before[PASSED_ON])
{
	const struct sigaction action = {.sa_handler = pass_on};

	for (size_t i = 0; i < PASSED_ON; i++) {
		sigaction(passed_on[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(passed_on[i], &action, NULL);
	}
}

/* Runs in the child and becomes the command, which ends with the agent even if the agent is
 * killed. */
static void answer_become(const char *path, const char *const arguments[], pid_t parent,
			  const sigset_t *mask)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(path, (char *const *)(uintptr_t)arguments);
	_exit(EXIT_NOT_STARTED);
}

bool answer_with(const char *command, const char *option, const char *path)
{
	const char *const with[] = {PROGRAM_HEAPCAST, command, option, "--", path, NULL};
	const char *const without[] = {PROGRAM_HEAPCAST, command, "--", path, NULL};
	struct sigaction before[PASSED_ON];
	char program[PATH_MAX];
	pid_t self = getpid(), pid;
	sigset_t held, mask;
	int status = -1;

	if (program_beside(PROGRAM_COLLECTOR, program) < 0)
		return false;
	/* Blocks the signals until `answering` is set, so that none is lost. The child unblocks
	 * them just before its exec. Until then it has our handlers and no process to pass a signal
	 * to. */
	sigemptyset(&held);
	for (size_t i = 0; i < PASSED_ON; i++)
		sigaddset(&held, passed_on[i]);
	sigprocmask(SIG_BLOCK, &held, &mask);
	pass_signals_on(before);
	pid = fork();
	if (!pid)
		answer_become(program, option ? with : without, self, &mask);
	answering = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	answering = 0;
	for (size_t i = 0; i < PASSED_ON; i++)
		sigaction(passed_on[i], &before[i], NULL);
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}
