/* mimalloc's own names, from the library of the system. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/targets/target.h"

void *mi_malloc(size_t size);
void *mi_malloc_small(size_t size);
void *mi_zalloc(size_t size);
void *mi_calloc(size_t count, size_t size);
void *mi_mallocn(size_t count, size_t size);
void *mi_realloc(void *p, size_t size);
void *mi_reallocn(void *p, size_t count, size_t size);
void *mi_malloc_aligned(size_t size, size_t alignment);
void *mi_malloc_aligned_at(size_t size, size_t alignment, size_t offset);
void *mi_realloc_aligned(void *p, size_t size, size_t alignment);
int mi_posix_memalign(void **p, size_t alignment, size_t size);
char *mi_strdup(const char *text);
void *mi_new(size_t size);
void *mi_new_n(size_t count, size_t size);
size_t mi_malloc_size(const void *p);
void mi_free(void *p);
void mi_free_size(void *p, size_t size);
void mi_free_aligned(void *p, size_t alignment);
void *mi_heap_new(void);
void *mi_heap_malloc(void *heap, size_t size);
void *mi_heap_calloc(void *heap, size_t count, size_t size);
void *mi_heap_realloc(void *heap, void *p, size_t size);
void mi_heap_delete(void *heap);

#define TIMES 1000u

/* 4 births. */
static void in_a_heap(void *heap)
{
	void *p = use(mi_heap_malloc(heap, own(100)));

	p = use(mi_heap_realloc(heap, p, own(4000)));
	p = use(mi_heap_realloc(heap, p, own(8000)));
	mi_free(p);
	mi_free(use(mi_heap_calloc(heap, 1, own(200))));
}

int main(void)
{
	static const char text[] = "0123456789012345678901"; /* of 23 bytes, as own(23) */
	void *heap = mi_heap_new();

	for (unsigned i = 0; i < TIMES; i++) {
		void *p = use(mi_malloc(own(100))), *q = NULL;

		p = use(mi_realloc(p, own(3000)));
		p = use(mi_reallocn(p, 1, own(6000)));
		p = use(mi_realloc_aligned(p, own(9000), 64));
		if (mi_malloc_size(p) < own(9000) || mi_posix_memalign(&q, 64, own(200)))
			return 1;
		mi_free(p);
		mi_free_aligned(q, 64);
		mi_free_size(use(mi_zalloc(own(300))), own(300));
		mi_free(use(mi_calloc(1, own(400))));
		mi_free(use(mi_mallocn(1, own(500))));
		mi_free(use(mi_malloc_small(own(64))));
		mi_free(use(mi_malloc_aligned(own(600), 64)));
		mi_free(use(mi_malloc_aligned_at(own(700), 64, 16)));
		mi_free(use(mi_strdup(text)));
		mi_free(use(mi_new(own(800))));
		mi_free(use(mi_new_n(1, own(900))));
		free(use(mi_malloc(own(1000))));
		mi_free(use(malloc(own(1000))));
		in_a_heap(heap);
	}
	mi_heap_delete(heap);
	say("allocations", 20 * TIMES);
	say("frees", 20 * TIMES);
	return sizeof(text) != own(23);
}
