/* A plugin of dlopen.c: PLUGIN is its name, which its functions bear, PLUGIN_SIZE what its blocks have. Another's code of the
 * same length would have the same offsets, so each skips some room of its own. */
#include "tests/targets/chains/chain.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

__asm__(".text\n.skip " PLUGIN_SKIP "\n");

FRAME static void JOIN(PLUGIN, _grab)(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void JOIN(PLUGIN, _deep)(size_t size)
{
	JOIN(PLUGIN, _grab)(size);
	STAY;
}

__attribute__((visibility("default"))) FRAME void plugin_enter(int count);
void plugin_enter(int count)
{
	for (int i = 0; i < count; i++)
		JOIN(PLUGIN, _deep)(PLUGIN_SIZE);
}
