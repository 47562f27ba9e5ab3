#pragma once
/* A small allocator to link into a program, under names that begin with PREFIX (je_, _rjem_, mi_, tc_). */
#include <stddef.h>

#define OWN_JOIN(a, b) a##b
#define OWN_NAME(a, b) OWN_JOIN(a, b)
#define OWN(name)      OWN_NAME(PREFIX, name)

void *OWN(malloc)(size_t size);
void *OWN(calloc)(size_t count, size_t size);
void *OWN(realloc)(void *p, size_t size);
int OWN(posix_memalign)(void **p, size_t alignment, size_t size);
void *OWN(aligned_alloc)(size_t alignment, size_t size);
void OWN(free)(void *p);
size_t OWN(malloc_size)(const void *p);
