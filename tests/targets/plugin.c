/* A library that is loaded and unloaded: allocates from inside of itself. Built several times with
 * other sizes of code. */
#include <stdlib.h>

#include "tests/targets/target.h"

void *plugin_work(size_t size);

__attribute__((visibility("default"), noinline)) void *plugin_work(size_t size)
{
	void *p = use(malloc(own(size)));

	__asm__ volatile(".rept " PLUGIN_SKIP "\n nop\n.endr");
	return p;
}
