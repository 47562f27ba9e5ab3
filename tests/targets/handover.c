/* handover COUNT: producers hand blocks to consumers, who free them; addresses come back at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define PAIRS 2
#define SLOTS 64

struct pair {
	void *slot[SLOTS];
	unsigned long count;
	pthread_t producer, consumer;
};

static struct pair pairs[PAIRS];

static void *produce(void *argument)
{
	struct pair *pair = argument;

	for (unsigned long i = 0; i < pair->count; i++) {
		void **slot = &pair->slot[i % SLOTS];

		while (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(slot, malloc(own(40 + i % 3 * 16)), __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct pair *pair = argument;

	for (unsigned long i = 0; i < pair->count; i++) {
		void **slot = &pair->slot[i % SLOTS], *p;

		while (!(p = __atomic_load_n(slot, __ATOMIC_ACQUIRE)))
			sched_yield();
		__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
		free(p);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	for (int i = 0; i < PAIRS; i++) {
		pairs[i].count = count;
		if (pthread_create(&pairs[i].producer, NULL, produce, &pairs[i]) ||
		    pthread_create(&pairs[i].consumer, NULL, consume, &pairs[i]))
			return 3;
	}
	for (int i = 0; i < PAIRS; i++) {
		pthread_join(pairs[i].producer, NULL);
		pthread_join(pairs[i].consumer, NULL);
	}
	say("allocations", PAIRS * count);
	say("frees", PAIRS * count);
	return 0;
}
