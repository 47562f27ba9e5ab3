/* cxx_loader PLUGIN TIMES: a C program that opens a plugin written in C++, in a scope of its own, and
 * closes it again, three times. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 0, caught = 0;

	for (int i = 0; i < 3; i++) {
		void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
		unsigned (*work)(unsigned);

		if (!plugin)
			return 1;
		work = (unsigned (*)(unsigned))dlsym(plugin, "plugin_work");
		caught += work(times);
		dlclose(plugin);
	}
	say("caught", caught);
	say("allocations", 3ul * times);
	say("frees", 3ul * times);
	return 0;
}
