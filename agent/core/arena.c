/* Takes memory from the system and hands it out from front to back. See arena.h. */
#include "agent/core/arena.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/ban.h"

static int open_with(struct arena *a, size_t size, int flag)
{
	void *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flag, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, size,
		MADV_NOHUGEPAGE); /* keeps the resident size equal to the requested size */
	*a = (struct arena){.memory = memory, .size = size};
	return 0;
}

int arena_open(struct arena *a, size_t size)
{
	return open_with(a, size, MAP_POPULATE);
}

int arena_open_sparse(struct arena *a, size_t size)
{
	return open_with(a, size, MAP_NORESERVE);
}

void arena_drop(struct arena *a)
{
	madvise(a->memory, a->size, MADV_DONTNEED);
	a->used = 0;
}

void arena_close(struct arena *a)
{
	if (a->memory)
		munmap(a->memory, a->size);
	*a = (struct arena){0};
}

void *arena_take(struct arena *a, size_t size)
{
	size_t start = (a->used + 63) & ~(size_t)63;

	if (size > a->size || start > a->size - size)
		return NULL;
	a->used = start + size;
	return a->memory + start;
}

struct arena arena_part(struct arena *a, size_t size)
{
	void *memory = arena_take(a, size);

	return (struct arena){.memory = memory, .size = memory ? size : 0};
}
