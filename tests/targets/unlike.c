/*
 * unlike EVENTS WAYS [THREADS]: in each thread EVENTS times a malloc and its free, each at the end of
 * one of WAYS ways down from the thread's start, so that nothing of a stack is left when the next
 * one begins. Way W has 12 + W frames; bits of W say which of two functions is called at each. Its
 * blocks have own(16 * (W + 1)) bytes. Ends early after SIGTERM. Prints how many.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define THREADS_MAX 16
#define FRAMES	    12

static unsigned long events, ways, done[THREADS_MAX];
static volatile sig_atomic_t over;

static void stop(int unused)
{
	(void)unused;
	over = 1;
}

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

static void *work(void *number)
{
	struct step s = {.block = NULL};
	unsigned long i;

	for (i = 0; i < events && !over; i++) {
		s.way = (unsigned)(i * 7 % ways);
		s.left = FRAMES + s.way;
		left(&s);
		s.way = (unsigned)(i * 3 % ways);
		s.left = FRAMES + s.way;
		right(&s);
	}
	done[(uintptr_t)number] = i;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	pthread_t thread[THREADS_MAX];
	unsigned long all = 0;

	if (argc < 3 || threads < 1 || threads > THREADS_MAX)
		return 2;
	events = strtoul(argv[1], NULL, 10);
	ways = strtoul(argv[2], NULL, 10);
	signal(SIGTERM, stop);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			return 1;
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		all += done[i];
	}
	say("allocations", all);
	say("frees", all);
	return 0;
}
