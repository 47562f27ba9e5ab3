/* jemalloc's own names, from the library of the system. */
#include <stddef.h>
#include <stdlib.h>

#include "tests/targets/target.h"

void *mallocx(size_t size, int flags);
void *rallocx(void *p, size_t size, int flags);
size_t xallocx(void *p, size_t size, size_t extra, int flags);
size_t sallocx(const void *p, int flags);
size_t nallocx(size_t size, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t size, int flags);

#define TIMES 1000u

int main(void)
{
	unsigned long moved = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		void *p = use(mallocx(own(100), 0)), *q = use(mallocx(own(5000), 12 /* a page */));

		p = use(rallocx(p, own(3000), 0));
		moved += xallocx(p, own(3008), 0, 0) >= own(3008);
		if (sallocx(q, 0) < own(5000) || nallocx(own(5000), 0) < own(5000))
			return 1;
		dallocx(p, 0);
		sdallocx(q, own(5000), 12);
		free(use(mallocx(own(64), 0)));
		dallocx(use(malloc(own(64))), 0);
	}
	say("allocations", 5 * TIMES + moved);
	say("frees", 5 * TIMES + moved);
	return 0;
}
