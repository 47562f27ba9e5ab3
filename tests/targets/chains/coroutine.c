/* Coroutines that hand over to each other between allocations, on stacks that are unmapped and mapped again in other sizes.
 * Outside of its first function a coroutine has only the piece of libc that it returns to. */
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 30
#define TURNS  10

static ucontext_t scheduler, routine[2];
static int number;

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void step(int depth)
{
	if (depth)
		step(depth - 1);
	else
		grab(40);
	STAY;
}

FRAME static void yield_inside(int me)
{
	grab(56);
	swapcontext(&routine[me], &scheduler);
	grab(56);
}

FRAME static void body(void)
{
	int me = number;

	for (int i = 0; i < TURNS; i++) {
		step(me ? 4 : 1);
		yield_inside(me);
	}
}

FRAME static void turn(int me)
{
	grab(72);
	number = me;
	swapcontext(&scheduler, &routine[me]);
	grab(72);
}

FRAME static int play(size_t bytes)
{
	void *stack[2];

	/* volatile: getcontext returns once, but a compiler can't know */
	for (volatile int i = 0; i < 2; i++) {
		stack[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		if (stack[i] == MAP_FAILED || getcontext(&routine[i]))
			return 1;
		routine[i].uc_stack.ss_sp = stack[i];
		routine[i].uc_stack.ss_size = bytes;
		routine[i].uc_link = &scheduler;
		makecontext(&routine[i], body, 0);
	}
	for (int i = 0; i < 2 * (TURNS + 1); i++) /* the last turn of each ends it */
		turn(i % 2);
	return munmap(stack[0], bytes) || munmap(stack[1], bytes);
}

int main(void)
{
	const unsigned long steps = ROUNDS * TURNS,
			    turns = 2 * 2 * (unsigned long)ROUNDS * (TURNS + 1);

	truth("site", "first", steps, steps * 40, COROUTINE "body;step;step;grab");
	truth("site", "second", steps, steps * 40, COROUTINE "body;step;step;step;step;step;grab");
	truth("site", "yield", 4 * steps, 4 * steps * 56, COROUTINE "body;yield_inside;grab");
	truth("site", "scheduler", turns, turns * 72, START "main;play;turn;grab");
	truth("gone", "first", steps, steps * 40, COROUTINE "body;step;step;grab");
	for (int i = 0; i < ROUNDS; i++)
		if (play((size_t)(16 + i % 3 * 32) << 10))
			return 1;
	return 15;
}
