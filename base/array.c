/* Growable arrays. array.h describes the interface. */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

#define FIRST_COUNT 16

int array_reserve(void *pointer, uint32_t *capacity, uint64_t count, size_t size)
{
	void **array = pointer;
	uint64_t wanted = *capacity ? *capacity : FIRST_COUNT;
	size_t bytes;
	char *more;

	if (count <= *capacity)
		return 0;
	if (count > UINT32_MAX / 2)
		return -ENOMEM;
	while (wanted < count)
		wanted *= 2;
	if (__builtin_mul_overflow(wanted, size, &bytes))
		return -ENOMEM;
	more = realloc(*array, bytes);
	if (!more)
		return -ENOMEM;
	memset(more + (size_t)*capacity * size, 0, (wanted - *capacity) * size);
	*array = more;
	*capacity = (uint32_t)wanted;
	return 0;
}
