/*
 * churn EVENTS [THREADS [DEPTH [LIVE]]]: each thread makes EVENTS allocations and frees at DEPTH
 * frames below its start, of random sizes, LIVE blocks at a time; prints how many. Deterministic.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/targets/target.h"

#define THREADS_MAX 64
#define LIVE_MAX    4096

struct work {
	pthread_t thread;
	unsigned long events;
	unsigned depth;
	unsigned live;
	uint64_t random;
	void *block[LIVE_MAX];
	unsigned long allocations, frees, bytes;
};

static struct work works[THREADS_MAX];

static uint64_t next_random(struct work *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

__attribute__((noinline)) static void churn(struct work *w)
{
	for (unsigned long i = 0; i < w->events; i++) {
		uint64_t r = next_random(w);
		void **slot = &w->block[r % w->live];

		if (*slot) {
			free(*slot);
			*slot = NULL;
			w->frees++;
		} else {
			size_t size = own(16 + (r >> 32) % 500);

			*slot = use(malloc(size));
			w->allocations++;
			w->bytes += size;
		}
	}
}

__attribute__((noinline)) static void descend(struct work *w, unsigned depth)
{
	if (depth)
		descend(w, depth - 1);
	else
		churn(w);
	__asm__ volatile("");
}

static void *thread_main(void *argument)
{
	struct work *w = argument;

	descend(w, w->depth);
	return NULL;
}

static unsigned long argument_of(char **argv, int argc, int index, unsigned long otherwise)
{
	return argc > index ? strtoul(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	unsigned long threads = argument_of(argv, argc, 2, 1), allocations = 0, frees = 0,
		      bytes = 0;
	struct timespec from, to;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned long i = 0; i < threads; i++) {
		works[i].events = argument_of(argv, argc, 1, 1000);
		works[i].depth = (unsigned)argument_of(argv, argc, 3, 5);
		works[i].live = (unsigned)argument_of(argv, argc, 4, 64);
		works[i].random = 0x9e3779b97f4a7c15u * (i + 1);
		if (!works[i].live || works[i].live > LIVE_MAX)
			return 2;
		if (threads == 1)
			thread_main(&works[0]);
		else if (pthread_create(&works[i].thread, NULL, thread_main, &works[i]))
			return 3;
	}
	for (unsigned long i = 0; i < threads; i++) {
		if (threads > 1)
			pthread_join(works[i].thread, NULL);
		allocations += works[i].allocations;
		frees += works[i].frees;
		bytes += works[i].bytes;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	say("allocations", allocations);
	say("frees", frees);
	say("bytes", bytes);
	say("ns",
	    (unsigned long)((to.tv_sec - from.tv_sec) * 1000000000 + (to.tv_nsec - from.tv_nsec)));
	return 0;
}
