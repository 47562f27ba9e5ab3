/*
 * Allocates all the while, a hundred times a second and in one thread, until it is told to end (SIGTERM); then it says how many blocks
 * it has allocated and freed. For an agent that is late.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	struct timespec from, to;
	unsigned long blocks = 0;
	long longest_ms = 0;

	signal(SIGTERM, end);
	while (!ended) {
		void *volatile block;

		clock_gettime(CLOCK_MONOTONIC, &from);
		block = malloc(100);
		free(block);
		clock_gettime(CLOCK_MONOTONIC, &to);
		blocks++;
		if ((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 > longest_ms)
			longest_ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
		nanosleep(&pause, NULL);
	}
	printf("blocks %lu longest_ms %ld\n", blocks, longest_ms);
	return 0;
}
