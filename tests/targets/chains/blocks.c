/* Blocks of every kind that C has, some of them asked for by libc on the program's behalf: out of its code the stack goes on. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 25

FRAME static void grow(void *p, size_t size)
{
	free(keep(realloc(p, size)));
	STAY;
}

FRAME static void born_small(void)
{
	grow(keep(malloc(24)), 5000); /* moves */
	STAY;
}

FRAME static void born_large(void)
{
	grow(keep(malloc(3000)), 2990); /* stays */
	STAY;
}

FRAME static void zeroed(void)
{
	unsigned char *p = keep(calloc(7, 31));

	for (int i = 0; i < 7 * 31; i++)
		if (p[i])
			_exit(98);
	free(p);
	STAY;
}

FRAME static void array(void)
{
	void *p = keep(reallocarray(NULL, 5, 44));
	size_t most = SIZE_MAX / 2;

	keep(&most);
	errno = 0;
	if (reallocarray(p, most, 3) || errno != ENOMEM)
		_exit(97);
	free(p);
	STAY;
}

FRAME static void aligned(void)
{
	void *p;

	if (posix_memalign(&p, 256, 300))
		_exit(96);
	free(keep(p));
	free(keep(aligned_alloc(64, 320)));
	free(keep(memalign(128, 340)));
	STAY;
}

FRAME static void copies(void)
{
	free(keep(strdup("as it is")));
	free(keep(strndup("as it is, up to here", 15)));
	STAY;
}

int main(void)
{
	const unsigned long n = ROUNDS;

	truth("site", "small", n, n * 24, START "main;born_small");
	truth("site", "large", n, n * 3000, START "main;born_large");
	truth("site", "grown", n, n * 5000, START "main;born_small;grow");
	truth("site", "shrunk", n, n * 2990, START "main;born_large;grow");
	truth("site", "zeroed", n, n * 7 * 31, START "main;zeroed");
	truth("site", "array", n, n * 220, START "main;array");
	truth("site", "aligned", 3 * n, n * 960, START "main;aligned");
	truth("site", "copies", 2 * n, n * 25, START "main;copies;*");
	truth("gone", "grown", 2 * n, n * 5024, START "main;born_small;grow");
	truth("gone", "shrunk", 2 * n, n * 5990, START "main;born_large;grow");
	truth("gone", "aligned", 3 * n, n * 960, START "main;aligned");
	truth("gone", "copies", 2 * n, n * 25, START "main;copies");
	for (int i = 0; i < ROUNDS; i++) {
		born_small();
		born_large();
		zeroed();
		array();
		aligned();
		copies();
	}
	return dlerror() ? 19 : 18; /* nobody has asked the loader for what is not there */
}
