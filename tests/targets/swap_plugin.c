/* A library that is loaded where another one was: the same code, but with frames of another size (SWAP_FRAME), so that who takes it for
 * the other one does not find its callers. Allocates SWAP_SIZE bytes. */
#include <stdlib.h>

#include "tests/targets/target.h"

void *swap_work(void);

__attribute__((noinline, noclone)) static void *swap_inner(void)
{
	volatile char room[SWAP_FRAME];
	void *p;

	room[0] = 1;
	p = use(malloc(own(SWAP_SIZE)));
	room[1] = room[0];
	return p;
}

__attribute__((visibility("default"), noinline)) void *swap_work(void)
{
	volatile char room[SWAP_FRAME];
	void *p;

	room[0] = 1;
	p = swap_inner();
	room[1] = room[0];
	return p;
}
