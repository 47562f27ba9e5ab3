/*
 * reloader TIMES stay|move PATH FILE...: loads, calls and unloads the files in turn, under the name PATH (each is linked to there when its
 * turn has come, as if it had been built anew), or `-`: under their own. Each comes to lie where the last one was, or elsewhere. Says how
 * often it was the same place.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/targets/target.h"

#define BLOCKS 16

static void fail(const char *what)
{
	say(what, 0);
	_exit(3);
}

static void put(const char *file, const char *path)
{
	char next[4096];

	snprintf(next, sizeof(next), "%s.next", path);
	unlink(next);
	if (link(file, next) || rename(next, path))
		fail("link");
	unlink(next); /* where both names were of one file, rename does nothing */
}

/* Where the last one was something else comes to lie, for a while. */
static void block(uintptr_t place, unsigned turn)
{
	static void *taken[BLOCKS];
	void **in = &taken[turn % BLOCKS];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (*in)
		munmap(*in, page);
	*in = mmap((void *)(place & -page), page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	unsigned times = argc > 4 ? (unsigned)atoi(argv[1]) : 0, files = (unsigned)argc - 4;
	unsigned long same = 0;
	uintptr_t place = 0;

	if (!times)
		return 2;
	for (unsigned i = 0; i < times; i++) {
		const char *file = argv[4 + i % files], *path = file;
		void *(*work)(void);
		void *handle;

		if (strcmp(argv[3], "-")) {
			path = argv[3];
			put(file, path);
		}
		if (!strcmp(argv[2], "move"))
			block(place, i);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		work = handle ? (void *(*)(void))dlsym(handle, "reload_work") : NULL;
		if (!work)
			fail("dlopen");
		same += place == (uintptr_t)work;
		place = (uintptr_t)work;
		free(work());
		if (dlclose(handle))
			fail("dlclose");
	}
	say("same", same);
	return 0;
}
