/*
 * The first allocation of the process is made by a child of vfork, in its memory (tag CHILD); then
 * it allocates itself (tag OWN). C alone: nothing has allocated before main.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/targets/target.h"

#define BLOCKS 5

int main(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (!pid) {
		for (int i = 0; i < BLOCKS; i++)
			free(use(malloc(child_size(100))));
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || status != 7 << 8)
		return 3;
	for (int i = 0; i < BLOCKS; i++)
		free(use(malloc(own(100))));
	say("allocations", BLOCKS);
	say("frees", BLOCKS);
	return 0;
}
