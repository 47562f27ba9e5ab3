/* An allocator's library that has what libc lacks before glibc 2.43: frees that are told the size. (They are as careful as can be: not
 * at all.) */
#include <stdlib.h>

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);
void cfree(void *p);

void free_sized(void *p, size_t size)
{
	(void)size;
	free(p);
}

void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(p);
}

void cfree(void *p)
{
	free(p);
}
