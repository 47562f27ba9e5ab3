#pragma once
/* A small allocator in a library of its own, under the names of a prefixed jemalloc. */
#include <stddef.h>

void *je_malloc(size_t size);
void *je_calloc(size_t count, size_t size);
void *je_realloc(void *p, size_t size);
void je_free(void *p);
int je_posix_memalign(void **p, size_t alignment, size_t size);
void *je_aligned_alloc(size_t alignment, size_t size);
void *je_mallocx(size_t size, int flags);
void *je_rallocx(void *p, size_t size, int flags);
size_t je_xallocx(void *p, size_t size, size_t extra, int flags);
void je_dallocx(void *p, int flags);
void je_sdallocx(void *p, size_t size, int flags);
size_t je_nallocx(size_t size, int flags);
