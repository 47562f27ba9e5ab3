/* A library for reloader: RELOAD_INNER, a name that it alone has, allocates RELOAD_SIZE bytes. Built several times, all as large. */
#include <stdlib.h>

#include "tests/targets/target.h"

void *reload_work(void);

__attribute__((noinline, noclone)) static void *RELOAD_INNER(void)
{
	void *p = use(malloc(own(RELOAD_SIZE)));

	__asm__ volatile(".rept " RELOAD_SKIP "\n nop\n.endr");
	return p;
}

__attribute__((visibility("default"), noinline)) void *reload_work(void)
{
	void *p = RELOAD_INNER();

	__asm__ volatile("");
	return p;
}
