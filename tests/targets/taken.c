/* taken: with jump_alloc, a handler that frees a block inside of malloc, and waits there until another thread has got
 * the same address and has freed it, too. The second block is too small to be sampled. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/targets/jump_alloc.h"
#include "tests/targets/target.h"

enum { WAIT, GIVEN_BACK, DONE };

static void *block;
static unsigned long same;
static int step = WAIT;

static void wait_for(int wanted)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != wanted)
		sched_yield();
}

static void handler(int number)
{
	(void)number;
	free(block);
	__atomic_store_n(&step, GIVEN_BACK, __ATOMIC_RELEASE);
	wait_for(DONE);
}

static void *second(void *context)
{
	void *p;

	wait_for(GIVEN_BACK);
	p = use(malloc(AGAIN_SIZE));
	same = p == block;
	free(p);
	__atomic_store_n(&step, DONE, __ATOMIC_RELEASE);
	return context;
}

int main(void)
{
	pthread_t thread;

	signal(SIGUSR1, handler);
	block = use(malloc(LENT_SIZE));
	if (pthread_create(&thread, NULL, second, NULL))
		return 1;
	free(use(malloc(SIGNAL_SIZE)));
	pthread_join(thread, NULL);
	say("same", same);
	return 0;
}
