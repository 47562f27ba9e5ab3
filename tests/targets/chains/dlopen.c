/* dlopen PLUGIN...: loads the plugins in turn, calls into them, unloads them. One comes to lie where another was, and at the
 * end all are gone. */
#include <dlfcn.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 12
#define BLOCKS 25

typedef void plugin_fn(int count);

FRAME static int use_plugin(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	plugin_fn *enter;

	if (!handle)
		return 1;
	*(void **)&enter = dlsym(handle, "plugin_enter");
	if (!enter)
		return 1;
	enter(BLOCKS);
	return dlclose(handle);
}

int main(int argc, char **argv)
{
	const int plugins = argc - 1;

	if (plugins != 2)
		return 2;
	for (int i = 0; i < plugins; i++) {
		const unsigned long all = ROUNDS / 2 * BLOCKS, size = i ? 144 : 80;
		const char *chain = i ? START "main;use_plugin;plugin_enter;beta_deep;beta_grab"
				      : START "main;use_plugin;plugin_enter;alpha_deep;alpha_grab";

		truth("site", i ? "beta" : "alpha", all, all * size, chain);
		truth("gone", i ? "beta" : "alpha", all, all * size, chain);
	}
	for (int i = 0; i < ROUNDS; i++)
		if (use_plugin(argv[1 + i % plugins]))
			return 3;
	return 0;
}
