/*
 * A program to attach to, behind an allocator that hands on (forward.c): it waits until FILE is there. ROUNDS times: malloc of 100,
 * realloc to 200, calloc of 3 * 30, free of both; and free(NULL), which is no event.
 *
 *	forwarded FILE ROUNDS
 */
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline)) static void work(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		void *p, *q;

		sink = p = malloc(100);
		sink = p = realloc(p, 200);
		sink = q = calloc(3, 30);
		free(p);
		free(q);
		free(NULL);
		__asm__ volatile("" ::: "memory");
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	while (access(argv[1], F_OK))
		usleep(1000);
	work((unsigned)atoi(argv[2]));
	_exit(7);
}
