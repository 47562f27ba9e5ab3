/*
 * Recording that is switched on and off from several threads: switches api | signal
 *
 * Threads take turns: one switches it on, makes blocks with the tag OWN, switches it off, makes
 * blocks with the tag CHILD, and frees them all. The others allocate meanwhile, with neither tag, so
 * that all find out at once that something has changed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

#define THREADS 3
#define TURNS	20
#define BLOCKS	10

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int by_signal;

static void switch_to(int on)
{
	if (by_signal)
		raise(SIGUSR1);
	else if (on)
		heapcast_start();
	else
		heapcast_stop();
}

static void take_turn(void)
{
	void *mine[BLOCKS], *others[BLOCKS];

	switch_to(1);
	for (int i = 0; i < BLOCKS; i++)
		mine[i] = use(i % 2 ? malloc(own(200)) : calloc(1, own(200)));
	for (int i = 0; i < BLOCKS / 2; i++)
		mine[i] = use(realloc(mine[i], own(600)));
	switch_to(0);
	for (int i = 0; i < BLOCKS; i++)
		others[i] = use(malloc(child_size(200)));
	for (int i = 0; i < BLOCKS; i++) {
		free(mine[i]);
		free(others[i]);
	}
}

static void *work(void *unused)
{
	(void)unused;
	for (int turns = 0; turns < TURNS;) {
		for (int i = 0; i < 50; i++)
			free(use(malloc(96)));
		if (pthread_mutex_trylock(&turn))
			continue;
		take_turn();
		turns++;
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	by_signal = argc > 1 && !strcmp(argv[1], "signal");
	if (!heapcast_start)
		return 3;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 4;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	say("allocations", THREADS * TURNS * (BLOCKS + BLOCKS / 2));
	return 0;
}
