/* Linked with a library that has sized frees, and frees that way. */
#include <stdlib.h>

#include "tests/targets/target.h"

#define TIMES 100

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);
void cfree(void *p);

__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < TIMES; i++) {
		free_sized(use(malloc(own(1000))), own(1000));
		free_aligned_sized(use(aligned_alloc(64, own(1100))), 64, own(1100));
		cfree(use(malloc(own(1200))));
	}
	free_sized(NULL, 0);
	__asm__ volatile("");
}

int main(void)
{
	work();
	say("times", TIMES);
	say("allocations", 3 * TIMES);
	say("frees", 3 * TIMES);
	return 0;
}
