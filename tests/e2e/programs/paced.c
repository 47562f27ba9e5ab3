/*
 * paced EVENTS MICROSECONDS FILE: two threads make so many events together, in lots of 2,000 with a pause after each; every
 * hundredth block stays. It says "done", waits until there is such a file, and ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOT  1000 /* pairs */
#define KEEP 100

static unsigned long pairs; /* of each thread */
static unsigned pause_us;

__attribute__((noinline)) static char *take(unsigned long i)
{
	return malloc(16 + i * 7919 % 5000);
}

static void *work(void *argument)
{
	for (unsigned long i = 0; i < pairs; i++) {
		char *volatile block = take(i);

		if (i % KEEP)
			free(block);
		if (i % LOT == LOT - 1)
			usleep(pause_us);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc < 4)
		return 2;
	pairs = strtoul(argv[1], NULL, 10) / 4;
	pause_us = (unsigned)strtoul(argv[2], NULL, 10);
	if (pthread_create(&other, NULL, work, NULL))
		return 1;
	work(NULL);
	pthread_join(other, NULL);
	puts("done");
	fflush(stdout);
	while (access(argv[3], F_OK))
		usleep(20000);
	return 0;
}
