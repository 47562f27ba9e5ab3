/* See prefixed.h: blocks one after the other out of a mapping of its own, never used again. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/targets/prefixed.h"

#define POOL (64ul << 20)

static char *pool;
static size_t used;

static void *take(size_t alignment, size_t size)
{
	size_t start;

	if (!pool)
		pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	start = (used + 16 + alignment - 1) & ~(alignment - 1);
	if (pool == MAP_FAILED || size > POOL - start) {
		errno = ENOMEM;
		return NULL;
	}
	used = start + size;
	memcpy(pool + start - sizeof(size), &size, sizeof(size));
	return pool + start;
}

static size_t size_of(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - sizeof(size), sizeof(size));
	return size;
}

void *je_malloc(size_t size)
{
	return take(16, size);
}

void *je_calloc(size_t count, size_t size)
{
	return take(16, count * size);
}

void *je_realloc(void *p, size_t size)
{
	void *q = take(16, size);

	if (p && q)
		memcpy(q, p, size < size_of(p) ? size : size_of(p));
	return q;
}

void je_free(void *p)
{
	(void)p;
}

int je_posix_memalign(void **p, size_t alignment, size_t size)
{
	*p = take(alignment, size);
	return *p ? 0 : ENOMEM;
}

void *je_aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

void *je_mallocx(size_t size, int flags)
{
	(void)flags;
	return take(16, size);
}

void *je_rallocx(void *p, size_t size, int flags)
{
	(void)flags;
	return je_realloc(p, size);
}

/* Shrinks in place, never grows. */
size_t je_xallocx(void *p, size_t size, size_t extra, int flags)
{
	(void)extra;
	(void)flags;
	return size < size_of(p) ? size : size_of(p);
}

void je_dallocx(void *p, int flags)
{
	(void)p;
	(void)flags;
}

void je_sdallocx(void *p, size_t size, int flags)
{
	(void)p;
	(void)size;
	(void)flags;
}

size_t je_nallocx(size_t size, int flags)
{
	(void)flags;
	return size;
}
