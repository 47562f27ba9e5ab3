/* end HOW: some blocks, then the end: _exit, abort, kill, segv, thread (the whole process, from another thread), or none. */
#include <pthread.h>
#include <signal.h>

#include "tests/targets/chains/chain.h"

#define BLOCKS 3000

FRAME static void grab(size_t size)
{
	(void)keep(malloc(size));
	STAY;
}

FRAME static void work(size_t size)
{
	for (int i = 0; i < BLOCKS; i++)
		grab(size);
	STAY;
}

FRAME static void *worker(void *argument)
{
	work(48);
	_exit(6);
	return argument;
}

static void end(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "segv"))
		*(volatile char *)NULL = 0;
	if (!strcmp(how, "thread") && !pthread_create(&thread, NULL, worker, NULL))
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";

	truth("site", "work", BLOCKS, BLOCKS * 40, START "main;work;grab");
	if (!strcmp(how, "thread"))
		truth("site", "thread", BLOCKS, BLOCKS * 48, THREAD "worker;work;grab");
	work(40);
	end(how);
	return 5;
}
