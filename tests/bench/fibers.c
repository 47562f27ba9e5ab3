/*
 * Work for measuring a recorder, as programs with coroutines do it:   bench-fibers COUNT FIBERS
 *
 * COUNT events, a malloc or a free each. Another fiber has the thread after each, so each event
 * finds another stack in another place. A fiber stays STAY events where it is, then goes up and
 * down to elsewhere.
 *
 * Prints the nanoseconds per event of its loop.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#define FIBERS_MAX  1000
#define STACK_BYTES (64 << 10)
#define STAY	    16
#define DEPTH_MIN   4
#define DEPTH_MAX   24

struct fiber {
	ucontext_t context;
	uint64_t random;
	void *block;
	char *stack;
};

static struct fiber fibers[FIBERS_MAX];
static ucontext_t at_end;
static unsigned long events_left;
static unsigned count, current;

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* The next fiber's turn; back when it is this one's again. After the last event main's. */
static void pass_on(struct fiber *fiber)
{
	if (!--events_left) {
		swapcontext(&fiber->context, &at_end);
		return;
	}
	current = current + 1 < count ? current + 1 : 0;
	if (count > 1)
		swapcontext(&fiber->context, &fibers[current].context);
}

static void take_turns(struct fiber *fiber)
{
	for (unsigned i = 0; i < STAY; i++) {
		if (fiber->block) {
			free(fiber->block);
			fiber->block = NULL;
		} else {
			fiber->block = malloc(16 + (next_random(&fiber->random) & 255));
		}
		pass_on(fiber);
	}
}

static void descend(struct fiber *fiber, unsigned depth, uint64_t way);

/* Two that differ, so that compilers don't make one of both. */
__attribute__((noinline)) static void descend_left(struct fiber *fiber, unsigned depth,
						   uint64_t way)
{
	descend(fiber, depth, way >> 1);
	__asm__ volatile("" : : "i"(1));
}

__attribute__((noinline)) static void descend_right(struct fiber *fiber, unsigned depth,
						    uint64_t way)
{
	descend(fiber, depth, way >> 1);
	__asm__ volatile("" : : "i"(2));
}

static inline __attribute__((always_inline)) void descend(struct fiber *fiber, unsigned depth,
							  uint64_t way)
{
	if (!depth)
		take_turns(fiber);
	else if (way & 1)
		descend_left(fiber, depth - 1, way);
	else
		descend_right(fiber, depth - 1, way);
}

/* A fiber's outermost function. It never ends. */
static void fiber_main(void)
{
	struct fiber *fiber = &fibers[current];

	for (;;) {
		uint64_t random = next_random(&fiber->random);

		descend(fiber, DEPTH_MIN + (unsigned)(random % (DEPTH_MAX - DEPTH_MIN + 1)),
			random >> 32 & 0x3f); /* below 6 frames the ways are the same */
	}
}

static int make_fibers(void)
{
	for (unsigned i = 0; i < count; i++) {
		struct fiber *fiber = &fibers[i];

		fiber->random = 88172645463325252ull + i;
		fiber->stack = malloc(STACK_BYTES);
		if (!fiber->stack || getcontext(&fiber->context))
			return -1;
		fiber->context.uc_stack.ss_sp = fiber->stack;
		fiber->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&fiber->context, fiber_main, 0);
	}
	return 0;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	unsigned long events = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	double started;

	count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 300;
	if (!events || !count || count > FIBERS_MAX) {
		fprintf(stderr, "usage: bench-fibers COUNT FIBERS, at most %d\n", FIBERS_MAX);
		return 2;
	}
	events_left = events;
	if (make_fibers())
		return 1;
	started = seconds();
	swapcontext(&at_end, &fibers[0].context);
	printf("%.1f\n", (seconds() - started) * 1e9 / (double)events);
	return 0;
}
