/* Fills what it frees; says how many of the blocks that it then gets are not all zero. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/targets/target.h"

#define SIZE 300u

static unsigned dirty;

static void *look(char *p, size_t from)
{
	size_t size = malloc_usable_size(p);
	unsigned found = 0;

	for (size_t i = from; i < size; i++)
		found |= p[i] != 0;
	dirty += found;
	memset(p, 0xa5, size);
	return p;
}

static char *grown(size_t from, size_t to)
{
	char *p = use(malloc(from));
	size_t before = malloc_usable_size(p);

	memset(p, 0xa5, before);
	return look(use(realloc(p, to)), before);
}

int main(void)
{
	void *p = NULL;

	for (unsigned i = 0; i < 100; i++) {
		free(look(use(malloc(SIZE + i)), 0));
		free(look(use(aligned_alloc(64, SIZE + i)), 0));
		free(look(use(memalign(64, SIZE + i)), 0));
		free(look(use(valloc(SIZE + i)), 0));
		free(look(use(pvalloc(SIZE + i)), 0));
		if (!posix_memalign(&p, 64, SIZE + i))
			free(look(use(p), 0));
		free(grown(SIZE, 2 * SIZE + i));
		free(grown(SIZE, 40000 + i));
	}
	say("dirty", dirty);
	return 0;
}
