/* A child of vfork works in its parent's memory: what it allocates is in the parent's heap, on record there, and once. */
#include <sys/wait.h>

#include "tests/targets/chains/chain.h"

#define CHILDREN 6
#define BLOCKS	 20

static void *blocks[CHILDREN][BLOCKS];

FRAME static void grab(void **ret, size_t size)
{
	*ret = keep(malloc(size));
	STAY;
}

FRAME static void in_child(int number, char **program)
{
	for (int i = 0; i < BLOCKS; i++)
		grab(&blocks[number][i], 72);
	if (number % 2)
		execv(program[0], program);
	_exit(3);
}

FRAME static int spawn(int number)
{
	static char *program[] = {"/bin/true", NULL};
	int status = 0;
	pid_t pid = vfork();

	if (!pid)
		in_child(number, program);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 100;
	return WEXITSTATUS(status);
}

FRAME static void reap(void)
{
	for (int i = 0; i < CHILDREN; i++)
		for (int j = 0; j < BLOCKS; j++)
			free(blocks[i][j]);
}

FRAME static void between(void)
{
	free(keep(malloc(88)));
	STAY;
}

int main(void)
{
	const unsigned long all = CHILDREN * BLOCKS;
	int sum = 0;

	truth("site", "child", all, all * 72, START "main;spawn;in_child;grab");
	truth("site", "parent", CHILDREN + 1, (CHILDREN + 1) * 88, START "main;between");
	truth("gone", "child", all, all * 72, START "main;reap");
	truth("gone", "parent", CHILDREN + 1, (CHILDREN + 1) * 88, START "main;between");
	between();
	for (int i = 0; i < CHILDREN; i++) {
		sum += spawn(i);
		between();
	}
	reap();
	return sum; /* 3 for every second one */
}
