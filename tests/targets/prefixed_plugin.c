/* A plugin that uses an allocator of other names. What it allocates from the usual one is how it becomes known. */
#include <stdlib.h>

#include "tests/targets/prefixed_work.h"

__attribute__((visibility("default"))) void plugin_work(unsigned times)
{
	free(use(malloc(child_size(100))));
	prefixed_work(times, 160);
}
