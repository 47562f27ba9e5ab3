/* A program whose malloc and free stand in front of an allocator under names of its own: one event each, not two. Exit status 7. */
#include <stddef.h>
#include <string.h>

static char room[1 << 20];
static size_t used;

__attribute__((noipa)) void *je_malloc(size_t size)
{
	used += (size + 15) & ~(size_t)15;
	return memset(room + used - ((size + 15) & ~(size_t)15), 0, size);
}

__attribute__((noipa)) void je_free(void *p)
{
	memset(p, 1, 8);
}

__attribute__((noipa)) void *malloc(size_t size)
{
	char *p = size > 100000 ? NULL : je_malloc(size);

	if (p)
		*p = 1;
	return p;
}

__attribute__((noipa)) void free(void *p)
{
	if (p)
		je_free(p);
	__asm__ volatile("" : : : "memory");
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(40));
	return 7;
}
