/*
 * Threads that are cancelled while they allocate.
 *
 *	deferred   no allocation is a point of cancellation, however long it waits: all of them are made
 *	any        wherever the thread is: the others go on. (It is cancelled in a hook's wait for room, where
 *	           the allocator holds no lock of its own.)
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/targets/target.h"

#define BLOCKS 20000

static unsigned made;

static void *deferred(void *unused)
{
	pthread_cancel(pthread_self());
	for (made = 0; made < BLOCKS; made++)
		free(use(malloc(own(64))));
	pthread_testcancel();
	return unused;
}

static void *any(void *unused)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (;;)
		free(use(malloc(child_size(64))));
	return unused;
}

static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

/* The milliseconds that the join took. */
static unsigned long cancel_one(useconds_t after)
{
	unsigned long start;
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, any, NULL);
	usleep(after);
	start = now_ms();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result == PTHREAD_CANCELED ? now_ms() - start : 100000;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	void *result;

	if (!strcmp(how, "deferred")) {
		pthread_create(&thread, NULL, deferred, NULL);
		pthread_join(thread, &result);
		say("made", made);
		say("cancelled", result == PTHREAD_CANCELED);
	} else {
		say("joined", cancel_one(200000));
		usleep(900000); /* the agent is awake again */
	}
	for (int i = 0; i < 50; i++)
		free(use(malloc(own(500))));
	return 0;
}
