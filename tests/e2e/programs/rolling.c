/*
 * rolling LIVE MICROSECONDS FILE: allocates a block each so many microseconds, of 1000, 1001, 1002... bytes, so that each
 * is known by its size, and frees the oldest when there are LIVE of them; until there is such a file. Then it frees the rest
 * and prints how many there were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST	 1000
#define LIVE_MAX 4096

static void *block[LIVE_MAX];

__attribute__((noinline)) static void *take(size_t size)
{
	void *volatile p = malloc(size); /* no tail call: it has a frame of its own */

	return p;
}

int main(int argc, char **argv)
{
	unsigned long live = argc > 3 ? strtoul(argv[1], NULL, 10) : 0, count = 0;
	unsigned pause_us = argc > 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (!live || live > LIVE_MAX)
		return 2;
	while (access(argv[3], F_OK)) {
		free(block[count % live]);
		block[count % live] = take(FIRST + count);
		count++;
		usleep(pause_us);
	}
	for (unsigned long i = 0; i < live; i++)
		free(block[i]);
	printf("%lu\n", count);
	return 0;
}
