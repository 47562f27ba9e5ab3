/* Children made in every way: fork, raw clone, vfork, posix_spawn. Forked ones allocate (tag CHILD)
 * and exit with a status that the parent checks; there must be no other child to wait for. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/targets/target.h"

extern char **environ;

static void child_work(int status)
{
	for (int i = 0; i < 1000; i++)
		free(use(malloc(child_size(100))));
	_exit(status);
}

static int reap(pid_t pid, int status)
{
	int got;

	return waitpid(pid, &got, 0) == pid && WIFEXITED(got) && WEXITSTATUS(got) == status;
}

int main(int argc, char **argv)
{
	char *const spawned[] = {argv[0], (char *)"child", NULL};
	void *before = use(malloc(own(32)));
	volatile int good = 0;
	int status;
	pid_t pid;

	if (argc > 1)
		return 5;
	pid = fork();
	if (!pid)
		child_work(3);
	good += reap(pid, 3);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		child_work(4);
	good += reap(pid, 4);
	if (!posix_spawn(&pid, argv[0], NULL, NULL, spawned, environ))
		good += reap(pid, 5);
	pid = vfork();
	if (!pid) {
		execv(argv[0], spawned);
		_exit(98);
	}
	good += reap(pid, 5);
	free(use(malloc(own(64))));
	free(before);
	say("allocations", 2);
	say("frees", 2);
	say("good", (unsigned long)good);
	say("others", waitpid(-1, &status, WNOHANG | __WALL) < 0 && errno == ECHILD ? 0 : 1);
	return 0;
}
