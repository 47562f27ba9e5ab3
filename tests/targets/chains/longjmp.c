/* Jumps out of deep frames: the next allocation comes from a stack that lies over the remains of the last one. */
#include <setjmp.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 90

static jmp_buf back;

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void leave(void)
{
	longjmp(back, 1);
}

FRAME static void dive(int depth)
{
	if (depth) {
		dive(depth - 1);
	} else {
		grab(40);
		leave();
	}
	STAY;
}

FRAME static void landed(int depth)
{
	if (depth)
		landed(depth - 1);
	else
		grab(56);
	STAY;
}

FRAME static void play(int depth)
{
	if (!setjmp(back))
		dive(depth);
	else
		landed(1);
	grab(72);
}

int main(void)
{
	const unsigned long third = ROUNDS / 3;

	truth("site", "dive-0", third, third * 40, START "main;play;dive;grab");
	truth("site", "dive-3", third, third * 40, START "main;play;dive;dive;dive;dive;grab");
	truth("site", "dive-6", third, third * 40,
	      START "main;play;dive;dive;dive;dive;dive;dive;dive;grab");
	truth("site", "landed", ROUNDS, ROUNDS * 56, START "main;play;landed;landed;grab");
	truth("site", "after", ROUNDS, ROUNDS * 72, START "main;play;grab");
	for (int i = 0; i < ROUNDS; i++)
		play(i % 3 * 3);
	return 13;
}
