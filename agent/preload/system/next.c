/* Finds the next allocator; see next.h. */
#include "agent/preload/system/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/preload/system/bootstrap.h"
#include "agent/preload/system/env.h"
#include "agent/preload/system/libc.h"
#include "agent/preload/allocators/mappings.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/zero.h"

#include "agent/preload/poison_io.h"

/* The table's content until next_resolve has finished. Each function runs next_resolve and then
 * calls the hook again. While next_resolve is under way, in this thread or another, the arena
 * serves. */

static void *first_malloc(size_t size)
{
	return start_resolved() ? malloc(size) : bootstrap_allocate(0, size);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (start_resolved())
		return calloc(count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : bootstrap_allocate(0, bytes);
}

static void *first_realloc(void *p, size_t size)
{
	if (start_resolved())
		return realloc(p, size);
	return p ? NULL : bootstrap_allocate(0, size);
}

static void first_free(void *p)
{
	if (start_resolved())
		free(p);
}

static int first_posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	void *p;

	if (start_resolved())
		return posix_memalign(ret_p, alignment, size);
	p = bootstrap_allocate(alignment, size);
	if (!p)
		return ENOMEM;
	*ret_p = p;
	return 0;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return start_resolved() ? aligned_alloc(alignment, size)
				: bootstrap_allocate(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return start_resolved() ? memalign(alignment, size) : bootstrap_allocate(alignment, size);
}

static size_t first_malloc_usable_size(void *p)
{
	return start_resolved() ? malloc_usable_size(p) : 0;
}

static void *first_reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (start_resolved())
		return reallocarray(p, count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : first_realloc(p, bytes);
}

static void *first_valloc(size_t size)
{
	return start_resolved() ? valloc(size) : bootstrap_allocate(4096, size);
}

static void *first_pvalloc(size_t size)
{
	return start_resolved() ? pvalloc(size) : bootstrap_allocate(4096, size);
}

struct next next = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.free = first_free,
	.posix_memalign = first_posix_memalign,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_memalign,
	.malloc_usable_size = first_malloc_usable_size,
	.reallocarray = first_reallocarray,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
};

/* Stand-ins for functions that an allocator may lack. */

static void *made_reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return next.realloc(p, bytes);
}

static void *missing_aligned(size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	errno = ENOMEM;
	return NULL;
}

static void *next_missing(size_t size)
{
	return missing_aligned(0, size);
}

static size_t missing_usable_size(void *p)
{
	(void)p;
	return 0;
}

static int missing_posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	(void)ret_p;
	(void)alignment;
	(void)size;
	return ENOMEM;
}

void *next_symbol(const char *name)
{
	return libc_symbol(RTLD_DEFAULT, name);
}

/* Returns true if this reallocarray calls realloc by name, and so re-enters the library in the
 * middle of the hook, as libc's does. Telling such calls from the program's own would force all
 * events off the short path (shim.nests). If a lookup of that name finds another module's realloc,
 * the call does not come back here, and reallocarray is kept. */
static bool comes_back(void *(*reallocarray)(void *, size_t, size_t))
{
	return symbols_together((uintptr_t)reallocarray, (uintptr_t)getauxval) &&
	       symbols_together((uintptr_t)next_symbol("realloc"), (uintptr_t)&next);
}

/* The modules of allocators, [start, end); an element with `end` 0 terminates the list. */
#define ALLOCATORS_MAX 8

static struct {
	uintptr_t start;
	uintptr_t end;
} allocators[ALLOCATORS_MAX];

bool next_is_allocator(uintptr_t pc)
{
	for (unsigned i = 0; i < ALLOCATORS_MAX; i++)
		if (pc >= __atomic_load_n(&allocators[i].start, __ATOMIC_RELAXED) &&
		    pc < __atomic_load_n(&allocators[i].end, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

void next_add_allocator(uintptr_t pc)
{
	uintptr_t start, end;

	if (next_is_allocator(pc) || !symbols_module(pc, &start, &end))
		return;
	for (unsigned i = 0; i < ALLOCATORS_MAX; i++) {
		if (allocators[i].end)
			continue;
		__atomic_store_n(&allocators[i].start, start, __ATOMIC_RELAXED);
		__atomic_store_n(&allocators[i].end, end, __ATOMIC_RELEASE);
		return;
	}
}

#define RESOLVE(name, otherwise)                                                                   \
	do {                                                                                       \
		found.name = (__typeof__(found.name))libc_symbol(RTLD_NEXT, #name);                \
		if (!found.name)                                                                   \
			found.name = (otherwise);                                                  \
	} while (0)

void next_resolve(void)
{
	struct next found;

	RESOLVE(malloc, next_missing);
	RESOLVE(calloc, missing_aligned);
	RESOLVE(realloc, NULL);
	RESOLVE(free, NULL);
	RESOLVE(posix_memalign, missing_posix_memalign);
	RESOLVE(aligned_alloc, missing_aligned);
	RESOLVE(memalign, missing_aligned);
	RESOLVE(malloc_usable_size, missing_usable_size);
	RESOLVE(reallocarray, made_reallocarray);
	if (comes_back(found.reallocarray))
		found.reallocarray = made_reallocarray;
	RESOLVE(valloc, next_missing);
	RESOLVE(pvalloc, next_missing);
	RESOLVE(mallopt, NULL);
	RESOLVE(malloc_trim, NULL);
	RESOLVE(dlclose, NULL);
	found.dlmopen = (__typeof__(found.dlmopen))symbols_find_next("dlmopen", &next);
	RESOLVE(mallinfo2, NULL);
	next_add_allocator((uintptr_t)found.malloc);
	if (!next_is_allocator((uintptr_t)found.mallinfo2))
		found.mallinfo2 = NULL; /* libc's function, but libc's allocator is not in use */
	if (env_flag("HEAPCAST_ZERO_MEMORY") || env_flag("MEMORY_PROFILER_ZERO_MEMORY"))
		zero_insert(&found);
	mappings_resolve();
	next = found;
}

void *next_realloc_bootstrap(void *p, size_t size)
{
	size_t old = bootstrap_size(p);
	void *block = next.malloc(size);

	if (block)
		memcpy(block, p, old < size ? old : size);
	return block;
}
