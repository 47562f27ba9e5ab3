/*
 * Work for measuring a recorder, in many threads:   bench-threads THREADS EVENTS AT_ONCE
 *
 * THREADS threads, EVENTS mallocs and frees each. AT_ONCE of them run at a time: when they have all
 * ended, the next ones begin. All replace blocks at random in one table, so most blocks are freed
 * by another thread than has allocated them.
 *
 * Prints the nanoseconds per event, with making and ending the threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AT_ONCE_MAX 256
#define TABLE	    4096
#define STAY	    8 /* pairs between two ways down */
#define DEPTH_MIN   3
#define DEPTH_MAX   16

struct worker {
	pthread_t thread;
	uint64_t random;
	unsigned long pairs; /* a malloc and a free each */
};

static _Atomic(void *) table[TABLE];

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void replace_some(struct worker *w)
{
	for (unsigned i = 0; i < STAY && w->pairs; i++, w->pairs--) {
		uint64_t random = next_random(w);

		free(atomic_exchange(&table[random % TABLE], malloc(16 + (random >> 32 & 255))));
	}
}

static void descend(struct worker *w, unsigned depth, uint64_t way);

/* Two that differ, so that compilers don't make one of both. */
__attribute__((noinline)) static void descend_left(struct worker *w, unsigned depth, uint64_t way)
{
	descend(w, depth, way >> 1);
	__asm__ volatile("" : : "i"(1));
}

__attribute__((noinline)) static void descend_right(struct worker *w, unsigned depth, uint64_t way)
{
	descend(w, depth, way >> 1);
	__asm__ volatile("" : : "i"(2));
}

static inline __attribute__((always_inline)) void descend(struct worker *w, unsigned depth,
							  uint64_t way)
{
	if (!depth)
		replace_some(w);
	else if (way & 1)
		descend_left(w, depth - 1, way);
	else
		descend_right(w, depth - 1, way);
}

static void *work(void *argument)
{
	struct worker *w = argument;

	while (w->pairs) {
		uint64_t random = next_random(w);

		descend(w, DEPTH_MIN + (unsigned)(random % (DEPTH_MAX - DEPTH_MIN + 1)),
			random >> 32 & 0x1f); /* below 5 frames the ways are the same */
	}
	return NULL;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* So many threads at once, to their end. */
static int run(unsigned long threads, unsigned long pairs)
{
	static struct worker workers[AT_ONCE_MAX];
	static uint64_t seed = 88172645463325252ull;
	int failed = 0;

	for (unsigned long i = 0; i < threads; i++) {
		workers[i].random = seed++;
		workers[i].pairs = pairs;
		failed = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (failed)
			threads = i;
	}
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return failed;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	unsigned long events = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	unsigned long at_once = argc > 3 ? strtoul(argv[3], NULL, 10) : 64;
	double started = seconds();

	if (!threads || events < 2 || !at_once || at_once > AT_ONCE_MAX) {
		fprintf(stderr, "usage: bench-threads THREADS EVENTS AT_ONCE, at most %d\n",
			AT_ONCE_MAX);
		return 2;
	}
	for (unsigned long done = 0; done < threads; done += at_once)
		if (run(threads - done < at_once ? threads - done : at_once, events / 2))
			return 1;
	printf("%.1f\n", (seconds() - started) * 1e9 / (double)(threads * events));
	return 0;
}
