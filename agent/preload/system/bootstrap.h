#pragma once
/*
 * The bootstrap arena serves allocations while the library looks for the next allocator: dlsym
 * itself may allocate, and so may other threads meanwhile. Blocks follow each other and are never
 * reused; there are only a handful in the life of a process.
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

/* Returns zeroed memory, aligned to `alignment` (a power of two) and at least to 16, or NULL if the
 * arena is used up. */
void *bootstrap_allocate(size_t alignment, size_t size);
/* Returns the bytes of the arena that are in use, counted from its start. */
size_t bootstrap_used(void);
/* Returns the size in bytes of a block that bootstrap_owns. */
size_t bootstrap_size(const void *p);
