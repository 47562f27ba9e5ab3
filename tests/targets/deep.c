/* Allocates at the bottom of a deep recursion: one block of 5555 bytes below DEPTH calls of `down`, one of 4444 bytes below `main`. */
#include <stdlib.h>

#define DEPTH 600

static void *volatile kept;

static __attribute__((noinline)) int down(int depth)
{
	volatile int here = depth;

	if (depth > 1)
		here += down(depth - 1);
	else
		kept = malloc(5555);
	return here;
}

int main(void)
{
	int sum = down(DEPTH);

	kept = malloc(4444);
	return sum == DEPTH * (DEPTH + 1) / 2 ? 0 : 1;
}
