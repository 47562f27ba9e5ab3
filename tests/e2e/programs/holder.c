/*
 * Holds and frees what is known, for the profilers of others: sums a backtrace, each by a function of its own.
 *
 *	e2e-holder [MORE]	holds 1500 blocks of 100 to 149 bytes (and MORE of 500), 3 MiB in one; 1500 and 5000 of 2000 were freed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD 3000

static void *volatile held[HELD];
static void *volatile more_held[100000];

__attribute__((noinline)) static void *take(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	return block;
}

__attribute__((noinline)) static void hold(void)
{
	for (int i = 0; i < HELD; i++)
		held[i] = take(100 + (size_t)i % 50);
}

__attribute__((noinline)) static void churn(void)
{
	for (int i = 0; i < 5000; i++)
		free(take(2000));
}

__attribute__((noinline)) static void let_half_go(void)
{
	for (int i = HELD / 2; i < HELD; i++) {
		free(held[i]);
		held[i] = NULL;
	}
}

__attribute__((noinline)) static void hold_more(int count)
{
	for (int i = 0; i < count; i++)
		more_held[i] = take(500);
}

int main(int argc, char **argv)
{
	static void *volatile large;

	hold();
	churn();
	let_half_go();
	large = take(3 << 20);
	hold_more(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
	return large && fflush(NULL);
}
