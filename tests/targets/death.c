/* death HOW [COUNT]: COUNT allocations, then the end: return, exit, _exit, quick_exit, abort, kill,
 * segv. */
#include <signal.h>
#include <stdlib.h>

#include "tests/targets/target.h"

static void end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;

	for (unsigned long i = 0; i < count; i++)
		(void)use(malloc(own(32)));
	if (argc > 1)
		end(argv[1]);
	return 7;
}
