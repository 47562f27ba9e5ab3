/*
 * See allocator.h: lists of free blocks by powers of two, cut from the break, with a lock that spins.
 *
 *	| base: what the list holds | size class, alignment slack | block ...
 */
#include "tests/targets/own/allocator.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define CLASSES 40
#define HEAD	16

struct head {
	void *base;
	uint32_t class;
	uint32_t reserved;
};

static void *lists[CLASSES];
static int lock;

static void enter(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
}

static void leave(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void *take(unsigned class)
{
	void *base;

	enter();
	base = lists[class];
	if (base)
		memcpy(&lists[class], base, sizeof(void *));
	leave();
	if (base)
		return base;
	base = sbrk((intptr_t)1 << class);
	return base == (void *)-1 ? NULL : base;
}

static struct head *head_of(const void *p)
{
	return (struct head *)((uintptr_t)p - HEAD);
}

void *OWN(aligned_alloc)(size_t alignment, size_t size)
{
	unsigned class = 5;
	uintptr_t base, at;

	if (alignment < HEAD)
		alignment = HEAD;
	while (class < CLASSES && ((size_t)1 << class) < size + alignment + HEAD)
		class ++;
	base = class < CLASSES ? (uintptr_t)take(class) : 0;
	if (!base) {
		errno = ENOMEM;
		return NULL;
	}
	at = (base + HEAD + alignment - 1) & ~(uintptr_t)(alignment - 1);
	*head_of((void *)at) = (struct head){(void *)base, class, 0};
	return (void *)at;
}

void *OWN(malloc)(size_t size)
{
	return OWN(aligned_alloc)(HEAD, size);
}

void *OWN(calloc)(size_t count, size_t size)
{
	void *p;

	if (size && count > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	p = OWN(malloc)(count * size);
	return p ? memset(p, 0, count * size) : NULL;
}

void OWN(free)(void *p)
{
	struct head *head;
	void *base;
	unsigned class;

	if (!p)
		return;
	head = head_of(p);
	base = head->base;
	class = head->class;
	enter();
	memcpy(base, &lists[class], sizeof(void *));
	lists[class] = base;
	leave();
}

size_t OWN(malloc_size)(const void *p)
{
	const struct head *head = head_of(p);

	return (uintptr_t)head->base + ((size_t)1 << head->class) - (uintptr_t)p;
}

void *OWN(realloc)(void *p, size_t size)
{
	size_t old = p ? OWN(malloc_size)(p) : 0;
	void *q = OWN(malloc)(size);

	if (p && q) {
		memcpy(q, p, old < size ? old : size);
		OWN(free)(p);
	}
	return q;
}

int OWN(posix_memalign)(void **p, size_t alignment, size_t size)
{
	void *q = OWN(aligned_alloc)(alignment, size);

	if (q)
		*p = q;
	return q ? 0 : ENOMEM;
}
