/* Threads that allocate at the same time and at different depths; main frees what they made. Twice: a later thread gets
 * the place of an earlier one. */
#include <pthread.h>

#include "tests/targets/chains/chain.h"

#define THREADS 8
#define BLOCKS	400

static void *blocks[THREADS][BLOCKS];

FRAME static void *grab(size_t size)
{
	void *p = keep(malloc(size));

	STAY;
	return p;
}

FRAME static void *through(size_t size)
{
	void *p = grab(size);

	STAY;
	return p;
}

FRAME static void *worker(void *argument)
{
	void **mine = argument;

	for (int i = 0; i < BLOCKS; i++)
		mine[i] = i % 2 ? grab(40) : through(24);
	return NULL;
}

FRAME static void reap(void)
{
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < BLOCKS; j++)
			free(blocks[i][j]);
}

int main(void)
{
	const unsigned long rounds = 2, half = rounds * THREADS * BLOCKS / 2;
	pthread_t thread[THREADS];

	truth("site", "odd", half, half * 40, THREAD "worker;grab");
	truth("site", "even", half, half * 24, THREAD "worker;through;grab");
	truth("gone", "all", 2 * half, half * 64, START "main;reap");
	for (unsigned long r = 0; r < rounds; r++) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&thread[i], NULL, worker, blocks[i]))
				return 1;
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		reap();
	}
	return 11;
}
