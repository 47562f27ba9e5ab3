/*
 * An allocator for the targets `jumper`, `nested`, `reused` and `taken`, preloaded behind libheapcast.so: blocks are
 * never used again, but for one size, and a request for some sizes (jump_alloc.h) raises SIGUSR1, so that a handler
 * runs inside of the allocator at a known moment. It is also one whose calloc comes back through
 * malloc by name, and whose realloc through malloc and free.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/targets/jump_alloc.h"

#define EXPORT __attribute__((visibility("default")))

static char memory[64 << 20] __attribute__((aligned(64)));
static size_t used;
static void *returned; /* of LENT_SIZE */

static void *take(size_t alignment, size_t size)
{
	size_t old = __atomic_load_n(&used, __ATOMIC_RELAXED), start;

	do {
		start = (old + 16 + alignment - 1) & ~(alignment - 1);
		if (size > sizeof(memory) || start + size > sizeof(memory))
			return NULL;
	} while (!__atomic_compare_exchange_n(&used, &old, start + size, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(memory + start - sizeof(size), &size, sizeof(size));
	return memory + start;
}

static size_t size_of(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - sizeof(size), sizeof(size));
	return size;
}

EXPORT void *malloc(size_t size)
{
	void *again = NULL;

	if (size == SIGNAL_SIZE || size == SIGNAL_AGAIN_SIZE || size == HUGE_SIZE)
		raise(SIGUSR1);
	if (size == AGAIN_SIZE || size == SIGNAL_AGAIN_SIZE)
		again = __atomic_exchange_n(&returned, NULL, __ATOMIC_ACQ_REL);
	return again ? again : take(16, size);
}

EXPORT void free(void *p)
{
	if (p && size_of(p) == LENT_SIZE)
		__atomic_store_n(&returned, p, __ATOMIC_RELEASE);
}

EXPORT void *calloc(size_t count, size_t size)
{
	void *(*volatile by_name)(size_t) = malloc;
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : by_name(bytes);
}

EXPORT void *realloc(void *p, size_t size)
{
	void *(*volatile by_name)(size_t) = malloc;
	void (*volatile free_by_name)(void *) = free;
	void *block = by_name(size);

	if (!p || !block)
		return block;
	memcpy(block, p, size_of(p) < size ? size_of(p) : size);
	free_by_name(p);
	if (size == LATE_SIZE)
		raise(SIGUSR1);
	return block;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return take(alignment < 16 ? 16 : alignment, size);
}
