/* A program with an allocator linked into it, under the usual names or with PREFIX: each function from a place of its own, and
 * from a thread. What the allocator promises is checked: alignment, contents, errno. */
#include "tests/targets/chains/chain.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#ifdef PREFIX
#include "tests/targets/own/allocator.h"
#else
#define OWN(name) name
#endif

#define ROUNDS 300ul

static void check(int right, int status)
{
	if (!right)
		_exit(status);
}

FRAME static void give_back(void *p)
{
	OWN(free)(p);
	STAY;
}

FRAME static char *from_malloc(size_t size)
{
	char *p = keep(OWN(malloc)(size));

	check(!((uintptr_t)p & 15), 90);
	memset(p, 0x5a, size);
	STAY;
	return p;
}

FRAME static void *from_calloc(size_t count, size_t size)
{
	char *p = keep(OWN(calloc)(count, size));

	for (size_t i = 0; i < count * size; i++)
		check(!p[i], 91);
	STAY;
	return p;
}

FRAME static void *moved(char *p, size_t old, size_t size)
{
	p = keep(OWN(realloc)(p, size));
	for (size_t i = 0; i < old; i++)
		check(p[i] == 0x5a, 92);
	STAY;
	return p;
}

FRAME static void *from_aligned(size_t alignment, size_t size)
{
	void *p = keep(OWN(aligned_alloc)(alignment, size));

	check(!((uintptr_t)p & (alignment - 1)), 93);
	STAY;
	return p;
}

FRAME static void *from_posix(size_t alignment, size_t size)
{
	void *p = NULL;

	check(!OWN(posix_memalign)(&p, alignment, size) && !((uintptr_t)p & (alignment - 1)), 94);
	STAY;
	return p;
}

/* Refused, and errno says so; not on record. */
FRAME static void too_much(void)
{
	volatile size_t size = SIZE_MAX / 2;

	errno = 0;
	check(!keep(OWN(malloc)(size)) && errno == ENOMEM, 95);
	errno = 77;
	OWN(free)(NULL);
	check(errno == 77, 96);
	STAY;
}

/* A value in every register that a call may use, before and after it. */
FRAME static void around(void)
{
	volatile double weight = 1.5;
	double sum = 0;

	for (int i = 0; i < 20; i++) {
		void *p = keep(OWN(malloc)(24));

		sum += weight * i;
		OWN(free)(p);
	}
	check(sum == 285, 97);
	STAY;
}

FRAME static void *in_a_thread(void *rounds)
{
	for (unsigned long i = 0; i < *(unsigned long *)rounds; i++)
		give_back(from_malloc(112));
	STAY;
	return NULL;
}

FRAME static void work(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
		give_back(from_malloc(40));
		give_back(from_calloc(3, 50));
		give_back(moved(from_malloc(64), 64, 4000));
		give_back(from_aligned(256, 512));
		give_back(from_posix(64, 200));
	}
	STAY;
}

int main(void)
{
	unsigned long n = ROUNDS;
	pthread_t thread;

	truth("site", "malloc", 2 * n, n * 104, START "main;work;from_malloc");
	truth("site", "calloc", n, n * 150, START "main;work;from_calloc");
	truth("site", "realloc", n, n * 4000, START "main;work;moved");
	truth("gone", "realloc", n, n * 64, START "main;work;moved");
	truth("site", "aligned", n, n * 512, START "main;work;from_aligned");
	truth("site", "posix", n, n * 200, START "main;work;from_posix");
	truth("gone", "free", 5 * n, n * (40 + 150 + 4000 + 512 + 200),
	      START "main;work;give_back");
	truth("site", "around", 20, 480, START "main;around");
	truth("gone", "around", 20, 480, START "main;around");
	truth("site", "thread", n, n * 112, THREAD "in_a_thread;from_malloc");
	truth("gone", "thread", n, n * 112, THREAD "in_a_thread;give_back");
	work(n);
	too_much();
	around();
	check(!pthread_create(&thread, NULL, in_a_thread, &n), 98);
	pthread_join(thread, NULL);
	return 21;
}
