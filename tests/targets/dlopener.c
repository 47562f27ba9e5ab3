/* dlopener TIMES PLUGIN...: loads, calls and unloads the plugins in turn. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long allocations = 0;

	for (int i = 0; i < times && argc > 2; i++) {
		void *handle = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
		void *(*work)(size_t) =
			handle ? (void *(*)(size_t))dlsym(handle, "plugin_work") : NULL;

		if (!work)
			return 3;
		for (size_t j = 0; j < 3; j++)
			free(work(100 + j * 16));
		allocations += 3;
		if (dlclose(handle))
			return 4;
	}
	say("allocations", allocations);
	say("frees", allocations);
	return 0;
}
