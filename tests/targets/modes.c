/*
 * modes PHASES: allocates in each phase, and frees and reallocates blocks of all phases so far; says
 * between two phases heapcast_mark with the number of the one that ends, and goes on when it gets
 * SIGRTMIN. At the end everything has been freed, half of it by another thread.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

#define BLOCKS	   3000
#define MAX_PHASES 8

static void *blocks[MAX_PHASES][BLOCKS];
static uint64_t seed = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static size_t size(void)
{
	return own(16 + any(any(8) ? 300 : 9000));
}

/* Each way of a realloc's life: nothing, freed, moved or not. */
static void change(void **place)
{
	switch (any(4)) {
	case 0:
		free(*place);
		*place = NULL;
		break;
	case 1:
	case 2:
		*place = use(realloc(*place, size()));
		break;
	default:
		free(*place);
		*place = use(malloc(size()));
	}
}

static void phase(unsigned number)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[number][i] = use(malloc(size()));
	for (unsigned i = 0; i < 2 * BLOCKS; i++)
		change(&blocks[any(number + 1)][any(BLOCKS)]);
}

static void *free_half(void *first)
{
	for (uintptr_t i = (uintptr_t)first; i < MAX_PHASES * BLOCKS; i += 2)
		free(blocks[i / BLOCKS][i % BLOCKS]);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned phases = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
	pthread_t other;
	sigset_t orders;

	sigemptyset(&orders);
	sigaddset(&orders, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &orders, NULL);
	for (unsigned i = 0; i < phases && i < MAX_PHASES; i++) {
		phase(i);
		if (i + 1 == phases || !heapcast_mark)
			break;
		heapcast_mark(i + 1);
		sigwaitinfo(&orders, NULL);
	}
	if (pthread_create(&other, NULL, free_half, (void *)1))
		return 3;
	free_half((void *)0);
	pthread_join(other, NULL);
	return 0;
}
