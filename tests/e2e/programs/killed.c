/*
 * Allocates and frees a known number of blocks through functions with known names, says what it has done, and kills itself
 * with SIGKILL: no destructor, no atexit, nothing that could still be flushed. killed N
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void keep_a_block(size_t size)
{
	kept = malloc(size);
}

__attribute__((noinline)) static void pass_a_block_through(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned long long bytes = 0;
	char text[200];
	int length;

	for (unsigned long i = 0; i < n; i++) {
		keep_a_block(24 + i % 7);
		pass_a_block_through(100 + i % 13);
		bytes += 24 + i % 7 + 100 + i % 13;
	}
	length = snprintf(text, sizeof(text), "allocations %lu\nbytes %llu\nfrees %lu\n", 2 * n,
			  bytes, n);
	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}
