#pragma once
/* Each function of prefixed.h, `times` times: 8 births, of which 3 by moves, and 8 deaths, of which 3 by moves. */
#include "tests/targets/prefixed.h"
#include "tests/targets/target.h"

__attribute__((noinline)) static void prefixed_work(unsigned times, size_t size)
{
	for (unsigned i = 0; i < times; i++) {
		void *p = use(je_malloc(own(size))), *q = use(je_calloc(1, own(size))), *r = NULL;

		p = use(je_realloc(p, own(2 * size)));
		p = use(je_rallocx(p, own(3 * size), 0));
		(void)je_xallocx(p, own(size), 0, 0);
		(void)je_xallocx(p, own(64 * size), 0, 0); /* it can't: the block stays as it is */
		je_sdallocx(p, own(size), 0);
		if (!je_posix_memalign(&r, 64, own(size)))
			je_free(r);
		je_dallocx(q, 0);
		je_free(use(je_aligned_alloc(64, own(size))));
		je_free(use(je_mallocx(je_nallocx(own(size), 0), 0)));
		je_free(NULL);
	}
}
#define PREFIXED_BIRTHS 8
