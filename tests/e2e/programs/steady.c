/*
 * steady COUNT MS: so many blocks, of 1, 2, 3... bytes, one each MS milliseconds; prints when each was allocated, in
 * nanoseconds of CLOCK_MONOTONIC since the first.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile kept;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct timespec wait = {.tv_nsec = argc > 2 ? atol(argv[2]) * 1000000 : 0};
	static char text[1 << 16];
	uint64_t first = now_ns();
	int used = 0;

	for (size_t i = 1; i <= count; i++) {
		kept = malloc(i);
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%zu %llu\n", i,
				 (unsigned long long)(now_ns() - first));
		nanosleep(&wait, NULL);
	}
	fputs(text, stdout);
	return 0;
}
