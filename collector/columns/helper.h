#pragma once
/*
 * Threads that help with one piece of work and exit with it. Their number, for all streams
 * together, never exceeds the number of processors, and is zero on a single processor. A caller
 * that gets no helper does all the work itself. A hundred streams received at once therefore take
 * no more threads than one.
 */
#include <pthread.h>
#include <stdbool.h>

struct helper {
	pthread_t thread;
	bool running; /* the owner must join it */
};

/*
 * Starts a helper. Returns false if none is available; the caller then does the work itself. The
 * caller joins a helper that it started.
 */
bool helper_start(struct helper *helper, void *(*run)(void *argument), void *argument);
/* Does nothing if the helper does not run. */
void helper_join(struct helper *helper);
