/* namespaces PLUGIN: allocates, then opens the plugin in a namespace of its own, with a libc of its own, and lets it allocate there. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	void *(*work)(size_t);
	void *plugin;

	for (int i = 0; i < 300; i++)
		free(use(malloc(own(1000))));
	plugin = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) : NULL;
	work = plugin ? (void *(*)(size_t))dlsym(plugin, "plugin_work") : NULL;
	if (!work)
		return argc > 1 ? 3 : 0;
	for (int i = 0; i < 500; i++)
		use(work(2000));
	say("allocations", 300);
	say("elsewhere", 500);
	return 0;
}
