/*
 * steady THREADS MOVE: each thread allocates and frees at full speed until SIGTERM, and measures how long it ever took from
 * one allocation to the next. At MOVE (SIGUSR1, if it is sent) they go on in another function. Prints what it did, and
 * ends with 7: "allocations", "frees", and "longest_us" on standard error, which differs from run to run.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/targets/target.h"

#define THREADS_MAX 16
#define LIVE	    1000

static atomic_int ended, moved;

struct work {
	pthread_t thread;
	uint64_t random;
	void *block[LIVE];
	unsigned long allocations, frees;
	uint64_t longest_ns;
};

static struct work works[THREADS_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(struct work *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void step(struct work *w)
{
	void **slot = &w->block[next_random(w) % LIVE];

	if (*slot) {
		free(*slot);
		*slot = NULL;
		w->frees++;
	} else {
		*slot = use(malloc(own(16 + next_random(w) % 300)));
		w->allocations++;
	}
}

static void steps(struct work *w, const atomic_int *until)
{
	uint64_t last = now_ns();

	while (!atomic_load_explicit(until, memory_order_relaxed) &&
	       !atomic_load_explicit(&ended, memory_order_relaxed)) {
		uint64_t now;

		step(w);
		now = now_ns();
		if (now - last > w->longest_ns)
			w->longest_ns = now - last;
		last = now;
	}
}

__attribute__((noinline)) static void steady_before(struct work *w)
{
	steps(w, &moved);
	use(w);
}

__attribute__((noinline)) static void steady_after(struct work *w)
{
	steps(w, &ended);
	use(w);
}

static void *run(void *argument)
{
	steady_before(argument);
	steady_after(argument);
	return NULL;
}

static void got(int number)
{
	atomic_store(number == SIGTERM ? &ended : &moved, 1);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned long allocations = 0, frees = 0;
	uint64_t longest_ns = 0;
	char line[64];
	int length;

	if (!threads || threads > THREADS_MAX)
		return 2;
	signal(SIGTERM, got);
	signal(SIGUSR1, got);
	for (unsigned i = 0; i < threads; i++) {
		works[i].random = 88172645463325252u + i;
		pthread_create(&works[i].thread, NULL, run, &works[i]);
	}
	say("started", threads);
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(works[i].thread, NULL);
		allocations += works[i].allocations;
		frees += works[i].frees;
		if (works[i].longest_ns > longest_ns)
			longest_ns = works[i].longest_ns;
	}
	say("allocations", allocations);
	say("frees", frees);
	length = snprintf(line, sizeof(line), "longest_us %lu\n",
			  (unsigned long)(longest_ns / 1000));
	return write(2, line, (size_t)length) == length ? 7 : 99;
}
