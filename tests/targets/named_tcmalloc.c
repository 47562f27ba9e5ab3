/* tcmalloc's own names, from the library of the system. */
#include <stddef.h>
#include <stdlib.h>

#include "tests/targets/target.h"

void *tc_malloc(size_t size);
void *tc_calloc(size_t count, size_t size);
void *tc_realloc(void *p, size_t size);
void *tc_memalign(size_t alignment, size_t size);
int tc_posix_memalign(void **p, size_t alignment, size_t size);
void *tc_valloc(size_t size);
void *tc_new(size_t size);
void *tc_newarray(size_t size);
void *tc_new_nothrow(size_t size, const void *nothrow);
void *tc_new_aligned(size_t size, size_t alignment);
size_t tc_malloc_size(void *p);
void tc_free(void *p);
void tc_cfree(void *p);
void tc_free_sized(void *p, size_t size);
void tc_delete(void *p);
void tc_deletearray(void *p);
void tc_delete_sized(void *p, size_t size);
void tc_delete_aligned(void *p, size_t alignment);

#define TIMES 1000u

int main(void)
{
	for (unsigned i = 0; i < TIMES; i++) {
		void *p = use(tc_malloc(own(100))), *q = NULL;

		p = use(tc_realloc(p, own(3000)));
		if (tc_malloc_size(p) < own(3000) || tc_posix_memalign(&q, 64, own(200)))
			return 1;
		tc_free(p);
		tc_cfree(q);
		tc_free_sized(use(tc_calloc(1, own(300))), own(300));
		tc_free(use(tc_memalign(64, own(400))));
		tc_free(use(tc_valloc(own(500))));
		tc_delete(use(tc_new(own(600))));
		tc_deletearray(use(tc_newarray(own(700))));
		tc_delete_sized(use(tc_new_nothrow(own(800), NULL)), own(800));
		tc_delete_aligned(use(tc_new_aligned(own(900), 64)), 64);
		free(use(tc_malloc(own(1000))));
		tc_free(use(malloc(own(1000))));
		tc_free(NULL);
	}
	say("allocations", 12 * TIMES);
	say("frees", 12 * TIMES);
	return 0;
}
