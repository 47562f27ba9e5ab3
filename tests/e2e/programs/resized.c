/*
 * Threads that do nothing but reallocate blocks of 1 to 5,000 bytes, while the agent stands still for moments: one free in five is of a
 * block of 4 KiB or more. Says what is true: bytes and blocks that were allocated, and that are left at the end.
 *
 *	resized THREADS TIMES SEED
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 8
#define KEPT	    64
#define STOP_EVERY  8000 /* reallocations */
#define STOPPED	    4000

struct worker {
	uint64_t state, bytes, left;
	void *block[KEPT];
	size_t size[KEPT];
};

static struct worker workers[THREADS_MAX];
static unsigned times;
static pid_t agent;

static uint64_t draw(struct worker *w)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return w->state;
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (unsigned i = 0; i < times; i++) {
		unsigned k = (unsigned)(draw(w) % KEPT);
		size_t size = 1 + draw(w) % 5000;

		if (w == workers && i % STOP_EVERY == 0)
			kill(agent, SIGSTOP);
		if (w == workers && i % STOP_EVERY == STOPPED)
			kill(agent, SIGCONT);
		w->block[k] = realloc(w->block[k], size);
		w->left += size - w->size[k];
		w->size[k] = size;
		w->bytes += size;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char output[256];
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1, blocks = 0;
	uint64_t bytes = 0, left = 0;
	pthread_t thread[THREADS_MAX];

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	times = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	agent = getppid();
	if (count > THREADS_MAX)
		return 2;
	for (unsigned i = 0; i < count; i++) {
		workers[i].state = 88172645463325252u + 7919 * i + 104729 * (argc > 3 ? (unsigned)atoi(argv[3]) : 0);
		if (pthread_create(&thread[i], NULL, work, &workers[i]))
			return 3;
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(thread[i], NULL);
		bytes += workers[i].bytes;
		left += workers[i].left;
		for (unsigned k = 0; k < KEPT; k++)
			blocks += workers[i].block[k] != NULL;
	}
	kill(agent, SIGCONT);
	printf("allocated %llu %u\nleaked %llu %u\n", (unsigned long long)bytes, count * times,
	       (unsigned long long)left, blocks);
	return 0;
}
