/*
 * Marks and allocations in turn, as fast as they go: `marker_order ROUNDS [NS]`, with a pause of NS in front of each mark. A block of 1000 + N
 * bytes was allocated while the marker was N, with the block in front of the mark as well as with the one behind it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "agent/preload/heapcast.h"

#define MARKS 500

static void *volatile kept;

static void allocate(size_t size)
{
	kept = malloc(size);
	free(kept);
}

static void pause_ns(long ns)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1, ns = argc > 2 ? atol(argv[2]) : 0;

	for (long i = 0; i < rounds; i++) {
		for (uint32_t n = 1; n <= MARKS; n++) {
			if (ns)
				pause_ns(ns);
			if (heapcast_mark)
				heapcast_mark(n);
			allocate(1000 + n);
			if (ns)
				pause_ns(ns);
			allocate(1000 + n);
		}
	}
	return 0;
}
