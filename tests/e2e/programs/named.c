/* 200 threads, one after the other, each with a name of its own: it names itself, allocates once and ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 200

static void *volatile kept;

static void *body(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "short-%ld", (long)number);
	pthread_setname_np(pthread_self(), name);
	kept = malloc(100);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, body, (void *)i) || pthread_join(thread, NULL))
			return 1;
	return 0;
}
