/* The C API in C: a pool in a block of the heap, labels, the names of the profiler before. */
#include <stdlib.h>
#include <string.h>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

#define BLOCKS 10

int main(void)
{
	char *block = use(malloc(own(4000)));
	const char *dirty = "not zero";

	if (!heapcast_pool_allocate || !memory_profiler_start) {
		say("api", 0);
		return 0;
	}
	/* The first block of the pool lies where the heap's does. */
	for (size_t i = 0; i < BLOCKS; i++)
		heapcast_pool_allocate(&block, block + 100 * i, own(90));
	for (size_t i = 0; i < BLOCKS; i += 2)
		heapcast_pool_free(&block, block + 100 * i);
	heapcast_label("request 7", 9);
	memory_profiler_set_marker(4711);
	memory_profiler_override_next_timestamp(1);
	memory_profiler_sync();
	memory_profiler_stop();
	(void)use(malloc(child_size(500)));
	memory_profiler_start();
	memcpy(block, dirty, strlen(dirty));
	free(block);
	say("allocations", 1);
	say("frees", 1);
	say("api", 1);
	return 0;
}
