/* Allocates small blocks in main, then one block below 440 calls of `down`, and one below as many of `under`: two deep stacks of which each is
 * new from main on. Prints nothing. */
#include <stdlib.h>

#include "tests/targets/target.h"

#define SMALL 80
#define DEPTH 440

static __attribute__((noinline)) int down(int depth)
{
	volatile int here = depth;

	if (depth > 1)
		here += down(depth - 1);
	else
		free(use(malloc(own(100))));
	return here;
}

static __attribute__((noinline)) int under(int depth)
{
	volatile int here = depth;

	if (depth > 1)
		here += under(depth - 1);
	else
		use(malloc(own(200)));
	return here;
}

int main(void)
{
	int sum;

	for (int i = 0; i < SMALL; i++)
		use(malloc(own(16)));
	sum = down(DEPTH);
	return sum == under(DEPTH) ? 0 : 1;
}
