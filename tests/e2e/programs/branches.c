/*
 * branches [grown]: allocations whose sums by function are known, for exports: some are kept, some freed at once, and in between most
 * is in use, all of it from `swell`. Grown, it keeps more in one function, less in another, and something in a new one.
 *
 *	function	kept (grown)			freed
 *	keep_small	100 x 1,000 (40 x 1,000)
 *	keep_large	10 x 100,000 (20 x 100,000)
 *	keep_new	0 (7 x 30,000)
 *	churn					1,000 x 64
 *	swell					200 x 50,000, all of them in use at once
 *	descend		5 x 512, each one call deeper
 *	work		50 x 4,096			1,000 x 16	in a thread called "worker"
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noipa))

static void *volatile kept[512];
static unsigned kept_count;
static void *volatile held[200];

CALLED static void keep(void *block)
{
	kept[kept_count++ % 512] = block;
}

CALLED static void keep_small(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		keep(malloc(1000));
}

CALLED static void keep_large(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		keep(malloc(100000));
}

CALLED static void keep_new(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		keep(malloc(30000));
}

/* Inlined into churn, where it allocates. */
static inline __attribute__((always_inline)) void *make_one(void)
{
	return malloc(64);
}

CALLED static void churn(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		void *volatile block = make_one();

		free(block);
	}
}

CALLED static void swell(void)
{
	for (unsigned i = 0; i < 200; i++)
		held[i] = malloc(50000);
	usleep(1); /* a recording's time has steps of a microsecond: the last block is seen in use at none otherwise */
	for (unsigned i = 0; i < 200; i++)
		free(held[i]);
}

CALLED static void descend(unsigned depth)
{
	keep(malloc(512));
	if (depth > 1)
		descend(depth - 1);
	keep(NULL); /* so that the call above is one */
}

CALLED static void work(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		void *volatile block = malloc(16);

		free(block);
		if (i % 20 == 0)
			keep(malloc(4096));
	}
}

static void *worker(void *unused)
{
	pthread_setname_np(pthread_self(), "worker");
	work();
	return unused;
}

CALLED static void grow(int grown)
{
	keep_small(grown ? 40 : 100);
	keep_large(grown ? 20 : 10);
	if (grown)
		keep_new(7);
	swell();
	churn();
	descend(5);
	keep(NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	grow(argc > 1 && !strcmp(argv[1], "grown"));
	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	return pthread_join(thread, NULL);
}
