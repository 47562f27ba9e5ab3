/*
 * unlike EVENTS WAYS [THREADS]: in each thread EVENTS times a malloc and its free, each at the end of
 * one of WAYS ways down from the thread's start, so that nothing of a stack is left when the next
 * one begins. Way W has 12 + W frames; bits of W say which of two functions is called at each. Its
 * blocks have own(16 * (W + 1)) bytes. Prints how many. Deterministic.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define THREADS_MAX 16
#define FRAMES	    12

static unsigned long events, ways;

struct step {
	unsigned way, left;
	void *block; /* to free; NULL: allocate one */
};

static void go_on(struct step *s);

__attribute__((noinline)) static void left(struct step *s)
{
	go_on(s);
	__asm__ volatile("" : : "i"(1));
}

__attribute__((noinline)) static void right(struct step *s)
{
	go_on(s);
	__asm__ volatile("" : : "i"(2));
}

static inline __attribute__((always_inline)) void go_on(struct step *s)
{
	if (s->left) {
		unsigned bit = --s->left % 5;

		if (s->way >> bit & 1)
			left(s);
		else
			right(s);
	} else if (s->block) {
		free(s->block);
		s->block = NULL;
	} else {
		s->block = use(malloc(own(16 * ((size_t)s->way + 1))));
	}
}

static void *work(void *unused)
{
	struct step s = {.block = NULL};

	for (unsigned long i = 0; i < events; i++) {
		s.way = (unsigned)(i * 7 % ways);
		s.left = FRAMES + s.way;
		left(&s);
		s.way = (unsigned)(i * 3 % ways);
		s.left = FRAMES + s.way;
		right(&s);
	}
	return unused;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	pthread_t thread[THREADS_MAX];
	unsigned long bytes = 0;

	if (argc < 3 || threads < 1 || threads > THREADS_MAX)
		return 2;
	events = strtoul(argv[1], NULL, 10);
	ways = strtoul(argv[2], NULL, 10);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (unsigned long i = 0; i < events; i++)
		bytes += own(16 * (i * 7 % ways + 1));
	say("allocations", events * threads);
	say("frees", events * threads);
	say("bytes", bytes * threads);
	return 0;
}
