/*
 * Does the least that a library in front of the allocator can do. It finds the next function once,
 * counts the call in its thread's memory, and passes it on. What recording costs beyond this is our
 * own cost (tests/bench/record). Use it only to measure programs: it records nothing, and never
 * frees the few blocks that dlsym asks for before there is an allocator.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
} next;

static __thread unsigned long calls __attribute__((tls_model("initial-exec")));

static _Alignas(16) unsigned char early[8192];
static size_t early_used;

static void *early_take(size_t size)
{
	size_t at = early_used;

	early_used += (size + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? early + at : NULL;
}

static int is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

#define LOOK_UP(name) next.name = (__typeof__(next.name))dlsym(RTLD_NEXT, #name)

/* The first allocation happens in the loader, where there is one thread. */
static __attribute__((cold, noinline)) int look_up(void)
{
	static int under_way;

	if (under_way)
		return 0;
	under_way = 1;
	LOOK_UP(calloc);
	LOOK_UP(realloc);
	LOOK_UP(reallocarray);
	LOOK_UP(free);
	LOOK_UP(posix_memalign);
	LOOK_UP(aligned_alloc);
	LOOK_UP(memalign);
	LOOK_UP(malloc);
	return 1;
}

static inline int ready(void)
{
	calls++;
	return __builtin_expect(next.malloc != NULL, 1) || look_up();
}

EXPORT void *malloc(size_t size)
{
	return ready() ? next.malloc(size) : early_take(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return ready() ? next.calloc(count, size) : early_take(count * size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return ready() ? next.realloc(old, size) : early_take(size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	return ready() ? next.reallocarray(old, count, size) : NULL;
}

EXPORT void free(void *p)
{
	if (ready() && !is_early(p))
		next.free(p);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	return ready() ? next.posix_memalign(ret, alignment, size) : ENOMEM;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return ready() ? next.aligned_alloc(alignment, size) : NULL;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return ready() ? next.memalign(alignment, size) : NULL;
}
