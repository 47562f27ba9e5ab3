/* prefixed_user TIMES [PLUGIN]: uses an allocator of other names, itself, and then a plugin. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/targets/prefixed_work.h"

int main(int argc, char **argv)
{
	unsigned times = (unsigned)atoi(argv[1]);

	prefixed_work(times, 48);
	if (argc > 2) {
		void *plugin = dlopen(argv[2], RTLD_LAZY);
		void (*work)(unsigned);

		if (!plugin)
			return 2;
		*(void **)&work = dlsym(plugin, "plugin_work");
		work(times);
		times *= 2;
		dlclose(plugin);
		prefixed_work(1, 48);
		times++;
	}
	say("allocations", times * PREFIXED_BIRTHS);
	say("frees", times * PREFIXED_BIRTHS);
	return 0;
}
