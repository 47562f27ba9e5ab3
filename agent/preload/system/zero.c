/* Zeroes memory on request; see zero.h. */
#include "agent/preload/system/zero.h"

#include <string.h>

#include "agent/preload/poison_io.h"

static struct next real; /* .malloc is NULL unless zeroing was requested */

static void *zeroed(void *p)
{
	return p ? memset(p, 0, real.malloc_usable_size(p)) : NULL;
}

static void *zero_malloc(size_t size)
{
	return zeroed(real.malloc(size));
}

static void *zero_aligned_alloc(size_t alignment, size_t size)
{
	return zeroed(real.aligned_alloc(alignment, size));
}

static void *zero_memalign(size_t alignment, size_t size)
{
	return zeroed(real.memalign(alignment, size));
}

static void *zero_valloc(size_t size)
{
	return zeroed(real.valloc(size));
}

static void *zero_pvalloc(size_t size)
{
	return zeroed(real.pvalloc(size));
}

static int zero_posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	int error = real.posix_memalign(ret_p, alignment, size);

	if (!error)
		zeroed(*ret_p);
	return error;
}

/* Zeroes the new part of a block that was reallocated from one with `old` usable bytes. */
static void *zeroed_from(void *p, size_t old)
{
	size_t size = p ? real.malloc_usable_size(p) : 0;

	if (size > old)
		memset((char *)p + old, 0, size - old);
	return p;
}

static void *zero_realloc(void *old, size_t size)
{
	size_t before = old ? real.malloc_usable_size(old) : 0;

	return zeroed_from(real.realloc(old, size), before);
}

static void *zero_reallocarray(void *old, size_t count, size_t size)
{
	size_t before = old ? real.malloc_usable_size(old) : 0;

	return zeroed_from(real.reallocarray(old, count, size), before);
}

void zero_insert(struct next *table)
{
	real = *table;
	table->malloc = zero_malloc;
	table->realloc = zero_realloc;
	table->reallocarray = zero_reallocarray;
	table->posix_memalign = zero_posix_memalign;
	table->aligned_alloc = zero_aligned_alloc;
	table->memalign = zero_memalign;
	table->valloc = zero_valloc;
	table->pvalloc = zero_pvalloc;
}

void *zero_allocator(void)
{
	return real.malloc ? (void *)real.malloc : (void *)next.malloc;
}
