/* A program that forks: what the children do is theirs and not on record, before, between and after is. */
#include <sys/wait.h>

#include "tests/targets/chains/chain.h"

#define CHILDREN 5

FRAME static void grab(size_t size, int count)
{
	for (int i = 0; i < count; i++)
		free(keep(malloc(size)));
	STAY;
}

FRAME static void child(int number)
{
	grab(1000, 300);
	_exit(number);
}

FRAME static void parent(void)
{
	grab(60, 50);
	STAY;
}

int main(void)
{
	int sum = 0;

	truth("site", "parent", (CHILDREN + 1) * 50, (CHILDREN + 1) * 50 * 60,
	      START "main;parent;grab");
	truth("gone", "parent", (CHILDREN + 1) * 50, (CHILDREN + 1) * 50 * 60,
	      START "main;parent;grab");
	parent();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid)
			child(i);
		parent();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		sum += WEXITSTATUS(status);
	}
	return sum; /* 0 + 1 + ... */
}
