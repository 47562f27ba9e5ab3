#pragma once
/*
 * Threads that help a piece of work along and end with it. There are never more of them than
 * processors, for all streams together, and none where there is one processor only: who gets none
 * does all of the work himself. So a hundred streams that are received at once take no more threads
 * than one.
 */
#include <pthread.h>
#include <stdbool.h>

struct helper {
	pthread_t thread;
	bool running; /* join it */
};

/* False: do it yourself. Whoever starts one joins it. */
bool helper_start(struct helper *helper, void *(*run)(void *argument), void *argument);
/* Of one that does not run: nothing. */
void helper_join(struct helper *helper);
