/*
 * To be loaded by LD_PRELOAD: counts the calls of malloc's family and hands them on to who comes behind, through pointers. What it
 * gives is not what it was given: a word stands before each block, as libmemusage.so has it. FORWARD_JUMPS: no word, and its
 * functions end by jumping to the others'.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
#ifdef FORWARD_JUMPS
#define HEAD 0
#else
#define HEAD 16
#endif

static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static unsigned long calls;

__attribute__((constructor)) static void find(void)
{
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

static void *behind(void *p)
{
	return p ? (char *)p + HEAD : p;
}

static void *before(void *p)
{
	return p ? (char *)p - HEAD : p;
}

SHOWN void *malloc(size_t size)
{
	if (!next_malloc)
		find();
	calls++;
	return size > SIZE_MAX - HEAD ? NULL : behind(next_malloc(size + HEAD));
}

SHOWN void *calloc(size_t count, size_t size)
{
	if (!next_calloc)
		find();
	calls++;
	if (HEAD && size && count > (SIZE_MAX - HEAD) / size)
		return NULL;
	return HEAD ? behind(next_calloc(1, count * size + HEAD)) : next_calloc(count, size);
}

SHOWN void *realloc(void *p, size_t size)
{
	if (!next_realloc)
		find();
	calls++;
	return size > SIZE_MAX - HEAD ? NULL : behind(next_realloc(before(p), size + HEAD));
}

SHOWN void free(void *p)
{
	if (!next_free)
		find();
	calls++;
	next_free(before(p));
#ifndef FORWARD_JUMPS
	calls += !p;
#endif
}
