/*
 * handover COUNT [PAIRS [SECONDS]]: producers hand blocks to consumers, who free them; addresses
 * come back at once. Each pair of a producer and a consumer passes COUNT blocks on, or as many as
 * it can in SECONDS. The sizes tell the pairs apart (size / 16 % 8 is the pair's number) and go
 * over the limit of what libc caches for a thread.
 *
 * Prints the sums, and for each pair what it has done and in which threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/targets/target.h"

#define PAIRS_MAX  8
#define SLOTS	   64
#define LOOK_EVERY 256 /* blocks between looks at the clock */

struct pair {
	void *slot[SLOTS] __attribute__((aligned(64)));
	unsigned long count; /* of the producer; final once `ended` */
	bool ended;
	unsigned long bytes, freed;
	unsigned long producer_tid, consumer_tid;
	pthread_t producer, consumer;
};

static struct pair pairs[PAIRS_MAX];
static unsigned long wanted;
static time_t deadline;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static bool over(unsigned long made)
{
	return deadline ? made % LOOK_EVERY == 0 && now() >= deadline : made == wanted;
}

static void *produce(void *argument)
{
	struct pair *pair = argument;
	unsigned long number = (unsigned long)(pair - pairs), i;

	pair->producer_tid = (unsigned long)syscall(SYS_gettid);
	for (i = 0; !over(i); i++) {
		void **slot = &pair->slot[i % SLOTS];
		size_t size = own((8 + i % 12 * 8 + number) * 16);

		while (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(slot, malloc(size), __ATOMIC_RELEASE);
		pair->bytes += size;
	}
	pair->count = i;
	__atomic_store_n(&pair->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The next block; NULL: there is none any more. */
static void *take(struct pair *pair, unsigned long i)
{
	void **slot = &pair->slot[i % SLOTS], *p;

	while (!(p = __atomic_load_n(slot, __ATOMIC_ACQUIRE))) {
		if (__atomic_load_n(&pair->ended, __ATOMIC_ACQUIRE) && i == pair->count)
			return NULL;
		sched_yield();
	}
	__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
	return p;
}

static void *consume(void *argument)
{
	struct pair *pair = argument;
	void *p;

	pair->consumer_tid = (unsigned long)syscall(SYS_gettid);
	while ((p = take(pair, pair->freed))) {
		free(p);
		pair->freed++;
	}
	return NULL;
}

static void say_of(const char *what, int number, unsigned long value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%d", what, number);
	say(name, value);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 2;
	unsigned long allocations = 0, frees = 0, bytes = 0;

	wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	deadline = argc > 3 ? now() + atoi(argv[3]) : 0;
	if (count < 1 || count > PAIRS_MAX)
		return 2;
	for (int i = 0; i < count; i++)
		if (pthread_create(&pairs[i].producer, NULL, produce, &pairs[i]) ||
		    pthread_create(&pairs[i].consumer, NULL, consume, &pairs[i]))
			return 3;
	for (int i = 0; i < count; i++) {
		pthread_join(pairs[i].producer, NULL);
		pthread_join(pairs[i].consumer, NULL);
		allocations += pairs[i].count;
		frees += pairs[i].freed;
		bytes += pairs[i].bytes;
		say_of("count", i, pairs[i].count);
		say_of("producer", i, pairs[i].producer_tid);
		say_of("consumer", i, pairs[i].consumer_tid);
	}
	say("allocations", allocations);
	say("frees", frees);
	say("bytes", bytes);
	return 0;
}
