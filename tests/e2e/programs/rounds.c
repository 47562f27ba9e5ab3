/*
 * rounds PAIRS EVERY_MS WINDOW_MS FILE: makes a round of PAIRS allocations and frees, of 20
 * backtraces, every EVERY_MS, and measures it. Ends once there is such a FILE. After each window it
 * prints a line: when it ended (in seconds since the epoch), the median of its rounds' CPU time and
 * of their duration, and the longest duration, in nanoseconds. A block of each round stays, the
 * last 500 of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STACKS	   20
#define KEPT	   500
#define ROUNDS_MAX 4096 /* of a window */

static void *kept[KEPT];
static uint64_t cpu[ROUNDS_MAX], lasted[ROUNDS_MAX];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void *take(unsigned depth, size_t size)
{
	void *volatile p = depth ? take(depth - 1, size) : malloc(size); /* no tail call */

	return p;
}

static void make_round(unsigned long number, unsigned long pairs)
{
	for (unsigned long i = 0; i < pairs; i++)
		free(take((unsigned)(i % STACKS), 16 + (i * 7919 + number) % 2000));
	free(kept[number % KEPT]);
	kept[number % KEPT] = take((unsigned)(number % STACKS), 100 + number % 1000);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void tell(unsigned count)
{
	qsort(cpu, count, sizeof(*cpu), by_size);
	qsort(lasted, count, sizeof(*lasted), by_size);
	printf("%llu %llu %llu %llu\n", (unsigned long long)(now_ns(CLOCK_REALTIME) / 1000000000),
	       (unsigned long long)cpu[count / 2], (unsigned long long)lasted[count / 2],
	       (unsigned long long)lasted[count - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long pairs = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t every_ns = argc > 4 ? strtoull(argv[2], NULL, 10) * 1000000 : 0;
	uint64_t window_ns = argc > 4 ? strtoull(argv[3], NULL, 10) * 1000000 : 0;
	uint64_t ends = now_ns(CLOCK_MONOTONIC) + window_ns;
	unsigned count = 0;

	if (!pairs || !every_ns || !window_ns)
		return 2;
	for (unsigned long number = 0; access(argv[4], F_OK); number++) {
		uint64_t cpu_at = now_ns(CLOCK_THREAD_CPUTIME_ID), at = now_ns(CLOCK_MONOTONIC);

		make_round(number, pairs);
		lasted[count] = now_ns(CLOCK_MONOTONIC) - at;
		cpu[count++] = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_at;
		if (count == ROUNDS_MAX || at >= ends) {
			tell(count);
			count = 0;
			ends = at + window_ns;
		}
		nanosleep(&(struct timespec){(time_t)(every_ns / 1000000000),
					     (long)(every_ns % 1000000000)},
			  NULL);
	}
	return 0;
}
