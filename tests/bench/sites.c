/*
 * Holds so many blocks, from 500 call sites, and replaces some of them.
 *
 *   bench-sites BLOCKS EVENTS_A_SECOND SECONDS [SIZES]
 *
 * First it allocates BLOCKS blocks within a second. For SECONDS it then frees one of them at a time
 * and allocates another, EVENTS_A_SECOND events in all. Each call site has up to SIZES sizes
 * (default 4). Each is a call of malloc of its own, below some of 8 functions that call each other.
 */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SITES  500
#define LEVELS 8
#define KEEP   __attribute__((noinline, noclone))

static uint64_t state = 88172645463325252u;

static uint32_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

/* Keeps calls apart that are the same otherwise. */
static void *kept(void *block, unsigned site)
{
	__asm__ volatile("" : "+r"(block) : "r"(site));
	return block;
}

#define ONE(n)                                                                                     \
	case n:                                                                                    \
		return kept(malloc(size), n);
#define TEN(n)                                                                                     \
	ONE(n + 0)                                                                                 \
	ONE(n + 1)                                                                                 \
	ONE(n + 2) ONE(n + 3) ONE(n + 4) ONE(n + 5) ONE(n + 6) ONE(n + 7) ONE(n + 8) ONE(n + 9)
#define HUNDRED(n)                                                                                 \
	TEN(n + 0)                                                                                 \
	TEN(n + 10)                                                                                \
	TEN(n + 20)                                                                                \
	TEN(n + 30) TEN(n + 40) TEN(n + 50) TEN(n + 60) TEN(n + 70) TEN(n + 80) TEN(n + 90)

static KEEP void *allocate(unsigned site, size_t size)
{
	switch (site) {
		HUNDRED(0)
		HUNDRED(100)
		HUNDRED(200)
		HUNDRED(300)
		HUNDRED(400)
	default:
		return NULL;
	}
}

/* A site is always reached by the same way: by the function of its number, modulo 8, at each of
 * some levels. */
static KEEP void *below(unsigned level, unsigned way, unsigned site, size_t size)
{
	void *block = NULL;

	if (!level)
		return allocate(site, size);
	switch (way % 4) {
	case 0:
		block = kept(below(level - 1, way / 4, site, size), 0);
		break;
	case 1:
		block = kept(below(level - 1, way / 4, site, size), 1);
		break;
	case 2:
		block = kept(below(level - 1, way / 4, site, size), 2);
		break;
	default:
		block = kept(below(level - 1, way / 4, site, size), 3);
	}
	return block;
}

static void *make(unsigned sizes)
{
	unsigned site = next_random() % SITES;
	size_t size = 16 + 8 * (site % 61) + 64 * (next_random() % sizes);

	return below(2 + site % LEVELS, site, site, size);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void until(double due)
{
	const struct timespec pause = {0, 5000000};

	while (now() < due)
		nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	double rate = argc > 2 ? atof(argv[2]) : 0, seconds = argc > 3 ? atof(argv[3]) : -1, start;
	unsigned sizes = argc > 4 ? (unsigned)atoi(argv[4]) : 4;
	void **held;

	if (!blocks || seconds < 0 || !sizes)
		errx(2, "usage: bench-sites BLOCKS EVENTS_A_SECOND SECONDS [SIZES]");
	held = calloc(blocks, sizeof(*held));
	if (!held)
		errx(1, "no memory");
	start = now();
	for (size_t i = 0; i < blocks; i++) {
		held[i] = make(sizes);
		if (i % 100 == 99)
			until(start + (double)i / (double)blocks);
	}
	start = now();
	for (double done = 0; done < rate * seconds; done += 2) {
		size_t i = next_random() % blocks;

		until(start + done / rate);
		free(held[i]);
		held[i] = make(sizes);
	}
	until(start + seconds);
	return 0;
}
