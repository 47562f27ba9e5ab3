/* The static arena that serves until the next allocator is known; see bootstrap.h. */
#include "agent/preload/system/bootstrap.h"

#include <string.h>

#include "agent/preload/poison.h"

#define HEAD 16u

unsigned char bootstrap_arena[BOOTSTRAP_SIZE] __attribute__((aligned(64)));
static size_t arena_used;

void *bootstrap_allocate(size_t alignment, size_t size)
{
	size_t start, end, used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
	unsigned char *block;

	if (alignment < HEAD)
		alignment = HEAD;
	if (size > BOOTSTRAP_SIZE || alignment > BOOTSTRAP_SIZE)
		return NULL;
	do {
		uintptr_t base = (uintptr_t)bootstrap_arena;

		start = ((base + used + HEAD + alignment - 1) & ~(alignment - 1)) - base;
		end = (start + size + HEAD - 1) & ~(size_t)(HEAD - 1);
		if (end > BOOTSTRAP_SIZE)
			return NULL;
	} while (!__atomic_compare_exchange_n(&arena_used, &used, end, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	block = bootstrap_arena + start;
	memcpy(block - sizeof(size), &size, sizeof(size));
	return block;
}

size_t bootstrap_used(void)
{
	return __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
}

size_t bootstrap_size(const void *p)
{
	size_t size;

	memcpy(&size, (const unsigned char *)p - sizeof(size), sizeof(size));
	return size;
}
