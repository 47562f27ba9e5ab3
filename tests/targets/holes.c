/*
 * A heap with holes, whose every byte is known: for questions about memory. In this order, with pauses in which maps are read:
 *
 *	mallopt(M_MMAP_THRESHOLD, 256 KiB)
 *	a mapping of the program's own, 1 MiB, its first half touched
 *	2000 blocks of 1000 bytes; two of three freed: every third stays
 *	marker 7; one block of 300,000 bytes, which gets a mapping of its own; marker 0
 *	a thread with 100 blocks of 500 bytes, which stay
 *	the first half of the program's mapping is unmapped
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/preload/heapcast.h"

#define BLOCKS	  2000
#define THREAD	  100
#define MAP_BYTES (1u << 20)

static void *volatile blocks[BLOCKS], *volatile big, *volatile thread_blocks[THREAD];

static void *thread(void *argument)
{
	for (int i = 0; i < THREAD; i++)
		thread_blocks[i] = malloc(500);
	return argument;
}

static void pause_for_maps(void)
{
	usleep(400000);
}

int main(void)
{
	pthread_t other;
	char *map;

	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(map, 1, MAP_BYTES / 2);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(1000);
		memset(blocks[i], 1, 1000);
	}
	pause_for_maps();
	for (int i = 0; i < BLOCKS; i++)
		if (i % 3)
			free(blocks[i]);
	if (heapcast_mark)
		heapcast_mark(7);
	big = malloc(300000);
	memset(big, 1, 300000);
	if (heapcast_mark)
		heapcast_mark(0);
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	pause_for_maps();
	munmap(map, MAP_BYTES / 2);
	pause_for_maps();
	return 0;
}
