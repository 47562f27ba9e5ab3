/* The plugin of tls.c: built with -ftls-model=initial-exec. */
#include "tests/targets/chains/chain.h"

static __thread unsigned long count_here[32];

FRAME static void plugin_deep(void)
{
	count_here[0]++;
	free(keep(malloc(104)));
	STAY;
}

__attribute__((visibility("default"))) FRAME void plugin_grab(int count);
void plugin_grab(int count)
{
	for (int i = 0; i < count; i++)
		plugin_deep();
	if (count_here[0] % (unsigned long)count)
		_exit(98);
}
