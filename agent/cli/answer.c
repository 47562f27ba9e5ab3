/* Has the collector answer. See answer.h. */
#include "agent/cli/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli/program.h"
#include "base/ban.h"

#define WAIT_MS	     1000
#define BUSY_WAIT_MS 3000
#define STEP_MS	     5

extern char **environ;

bool answer_possible(void)
{
	char path[PATH_MAX];

	return !strcmp(program_title(), PROGRAM_HEAPCAST) &&
	       !program_beside(PROGRAM_COLLECTOR, path);
}

/* Starts the collector with `arguments`, its output on our standard error. `input` is its standard
 * input (-1: ours), and Ctrl-C does not reach it then. Returns its pid, or 0. */
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

/* On a busy machine it gets little of a second. */
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

bool answer_with(const char *command, const char *option, const char *path)
{
	const char *const with[] = {PROGRAM_HEAPCAST, command, option, "--", path, NULL};
	const char *const without[] = {PROGRAM_HEAPCAST, command, "--", path, NULL};
	pid_t pid = answer_start(option ? with : without, -1);
	int status = -1;

	while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid && WIFEXITED(status) && !WEXITSTATUS(status);
}
