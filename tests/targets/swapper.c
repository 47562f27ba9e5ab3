/*
 * swapper GO TIMES ALLOCATOR PLUGIN...: when the file GO is there it loads, calls and unloads the plugins in turn, each of which comes to
 * lie where the last one was. Then twice ALLOCATOR, a library with a malloc and free of its own, of which it takes 300 blocks, a
 * millisecond apart.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/targets/target.h"

static void pause_a_while(void)
{
	struct timespec t = {.tv_nsec = 1000000};

	nanosleep(&t, NULL);
}

static void *load(const char *path, void **ret_handle, const char *name)
{
	*ret_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return *ret_handle ? dlsym(*ret_handle, name) : NULL;
}

static bool use_plugin(const char *path, uintptr_t *place, unsigned long *same)
{
	void *handle;
	void *(*work)(void) = (void *(*)(void))load(path, &handle, "swap_work");

	if (!work)
		return false;
	*same += *place == (uintptr_t)work;
	*place = (uintptr_t)work;
	free(work());
	return !dlclose(handle);
}

static bool use_allocator(const char *path)
{
	void *handle;
	void *(*take)(size_t) = (void *(*)(size_t))load(path, &handle, "malloc");
	void (*give)(void *) = handle ? (void (*)(void *))dlsym(handle, "free") : NULL;

	for (unsigned i = 0; take && give && i < 300; i++) {
		give(use(take(own(5000))));
		pause_a_while();
	}
	return take && give && !dlclose(handle);
}

int main(int argc, char **argv)
{
	unsigned long same = 0;
	uintptr_t place = 0;

	if (argc < 5)
		return 2;
	while (access(argv[1], F_OK))
		pause_a_while();
	for (int i = 0; i < atoi(argv[2]); i++)
		if (!use_plugin(argv[4 + i % (argc - 4)], &place, &same))
			return 3;
	say("same", same);
	return use_allocator(argv[3]) && use_allocator(argv[3]) ? 0 : 4;
}
