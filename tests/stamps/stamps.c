/*
 * The clocks that stamps come from, on this processor: no stamp of a thread is older than the one before it; where stamps are ordered none
 * is older than that of another thread which has handed over to this one; and the system's clock is the agent's. Prints what each takes.
 * Without cmocka, which Debian has not for every processor that the library is built for.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/preload/system/clock.h"

#define ROW  200000 /* stamps of one thread */
#define HAND 3000   /* times that two threads hand over */

/* The library's state: `stamps` is the clock, and the ring's tick. */
struct shim shim;
struct shim_page shim_page;
__thread struct tls tls __attribute__((tls_model("initial-exec"), aligned(64)));
static struct ring_header ring;

static const struct clock {
	enum stamps stamps;
	const char *name;
	bool ordered;
	bool own; /* the processor's */
} clocks[] = {
	{STAMPS_SINGLE, "counter, of one thread", false, true},
	{STAMPS_ORDERED, "counter, in order", true, true},
	{STAMPS_SYSTEM, "CLOCK_MONOTONIC", true, false},
	{STAMPS_TICKS, "ticks of the ring", true, false},
};

static uint64_t last;
static unsigned turn;
static bool failed;

static void fail(const char *what, uint64_t before, uint64_t stamp)
{
	printf("%s: %llu, then %llu\n", what, (unsigned long long)before,
	       (unsigned long long)stamp);
	failed = true;
}

static uint64_t agent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check_row(const struct clock *c)
{
	uint64_t before = 0, began = agent_ns(), stamp;

	for (unsigned i = 0; i < ROW && !failed; i++) {
		stamp = stamp_now();
		if (stamp < before)
			fail("a stamp is older than the one before", before, stamp);
		before = stamp;
	}
	printf("%-24s %7.1f ns\n", c->name, (double)(agent_ns() - began) / ROW);
}

/* Each waits for its turn, takes a stamp, and lets the other one go on. */
static void *hand_over(void *me)
{
	for (unsigned i = 0; i < HAND; i++) {
		uint64_t stamp;

		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % 2 != (me != NULL))
			sched_yield();
		stamp = stamp_now();
		if (stamp < last)
			fail("a stamp is older than that of the thread before", last, stamp);
		last = stamp;
		__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void check_hand_over(void)
{
	pthread_t other;

	last = turn = 0;
	if (pthread_create(&other, NULL, hand_over, &turn))
		abort();
	hand_over(NULL);
	pthread_join(other, NULL);
}

static void check_agent(void)
{
	for (unsigned i = 0; i < 1000 && !failed; i++) {
		uint64_t before = agent_ns(), stamp = stamp_now(), after = agent_ns();

		if (stamp < before)
			fail("a stamp is older than the agent's clock was", before, stamp);
		if (stamp > after)
			fail("a stamp is younger than the agent's clock is", stamp, after);
	}
}

int main(void)
{
	shim_page.ring = &ring;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (clocks[i].own && !arch_clock_usable()) {
			printf("%-24s none\n", clocks[i].name);
			continue;
		}
		shim.stamps = clocks[i].stamps;
		check_row(&clocks[i]);
		if (clocks[i].ordered)
			check_hand_over();
		if (clocks[i].stamps == STAMPS_SYSTEM)
			check_agent();
	}
	return failed;
}
