#pragma once
/*
 * The arena for what is allocated while the next allocator is being looked for: dlsym itself may
 * allocate, and so may other threads meanwhile. Blocks lie one after the other and are never used
 * again; there are a handful of them in the life of a process.
 *
 *	| size (16 bytes) | block ... | size | block ...
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_SIZE (32u << 10)

extern unsigned char bootstrap_arena[BOOTSTRAP_SIZE] __attribute__((visibility("hidden")));

static inline bool bootstrap_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)bootstrap_arena < BOOTSTRAP_SIZE;
}

/* Zeroed memory, aligned to `alignment` (a power of two) and at least to 16; NULL: the arena is
 * used up. */
void *bootstrap_allocate(size_t alignment, size_t size);
/* Bytes of the arena that were ever given, from its beginning on. */
size_t bootstrap_used(void);
/* Bytes of a block that bootstrap_owns. */
size_t bootstrap_size(const void *p);
