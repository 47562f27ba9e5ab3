/*
 * sampled [SCALE]: a known heap for estimates to be held against. Each site is a function
 * of its own that allocates blocks of sizes from a range, in a random order among the others; most
 * blocks are freed again, half of them by another thread, and some sites grow theirs by realloc,
 * in place or not. Prints the truth: a line "NAME BYTES BLOCKS KEPT_BYTES KEPT_BLOCKS" a site, of
 * what its function has allocated and of what of that is never freed.
 * Scale 0: without an end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define SLOTS 256

/* X(name, smallest size, largest, blocks at scale 1, one in so many is kept, grown by realloc) */
#define SITES(X)                                                                                   \
	X(site_tiny, 16, 16, 40000, 8, false)                                                      \
	X(site_small, 24, 72, 24000, 5, false)                                                     \
	X(site_usual, 40, 300, 12000, 6, false)                                                    \
	X(site_wide, 16, 8000, 900, 4, false)                                                      \
	X(site_page, 4096, 4096, 700, 3, false)                                                    \
	X(site_below, 20000, 32767, 60, 4, false)                                                  \
	X(site_above, 32768, 60000, 40, 5, false)                                                  \
	X(site_large, 262144, 1048576, 12, 6, false)                                               \
	X(site_rare, 100, 200, 600, 10, false)                                                     \
	X(site_grown_little, 30, 200, 6000, 7, true)                                               \
	X(site_grown, 1000, 9000, 500, 5, true)                                                    \
	X(site_grown_much, 16000, 100000, 30, 4, true)

struct truth {
	unsigned long bytes, blocks, kept_bytes, kept_blocks;
};

struct site {
	const char *name;
	void *(*allocate)(size_t size);
	size_t least, most;
	unsigned long count, keep;
	bool grows;
	struct truth truth;
};

#define DEFINE(name, least, most, count, keep, grows)                                              \
	__attribute__((noinline)) static void *name(size_t size)                                   \
	{                                                                                          \
		return use(grows ? realloc(malloc(size / 3), size) : malloc(size));                \
	}
SITES(DEFINE)

#define ROW(name, least, most, count, keep, grows)                                                 \
	{#name, name, least, most, count, keep, grows, {0, 0, 0, 0}},
static struct site sites[] = {SITES(ROW)};
#define SITE_COUNT (sizeof(sites) / sizeof(sites[0]))

static uint64_t seed = 88172645463325252u;
static void *slots[SLOTS];
static void *window[SLOTS];
static bool over;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void *free_others(void *unused)
{
	(void)unused;
	for (unsigned long i = 0;; i = (i + 1) % SLOTS) {
		void *p = __atomic_exchange_n(&slots[i], NULL, __ATOMIC_ACQUIRE);

		if (!p && __atomic_load_n(&over, __ATOMIC_ACQUIRE))
			return NULL;
		if (!p)
			sched_yield();
		free(p);
	}
}

/* Freed a little later, here or over there. */
static void let_go(void *p)
{
	void **place = &window[any(SLOTS)];
	void *old = *place;

	*place = p;
	if (any(2))
		old = __atomic_exchange_n(&slots[any(SLOTS)], old, __ATOMIC_RELEASE);
	free(old);
}

static void count(struct truth *t, const struct site *site, size_t size, bool kept)
{
	t->bytes += size + (site->grows ? size / 3 : 0);
	t->blocks += site->grows ? 2 : 1;
	t->kept_bytes += kept ? size : 0;
	t->kept_blocks += kept;
}

static void allocate(struct site *site)
{
	size_t size = site->least + any(site->most - site->least + 1);
	bool kept = any(site->keep) == 0;
	void *p = site->allocate(size);

	count(&site->truth, site, size, kept);
	if (!kept)
		let_go(p);
}

static void work(unsigned long scale)
{
	unsigned long left[SITE_COUNT], total = 0;

	for (unsigned i = 0; i < SITE_COUNT; i++)
		total += left[i] = sites[i].count * scale;
	while (total) {
		unsigned long pick = any(total);
		unsigned i = 0;

		while (pick >= left[i])
			pick -= left[i++];
		allocate(&sites[i]);
		left[i]--;
		total--;
	}
}

static void print_truth(void)
{
	char line[160];

	for (unsigned i = 0; i < SITE_COUNT; i++) {
		const struct truth *t = &sites[i].truth;
		int length = snprintf(line, sizeof(line), "%s %lu %lu %lu %lu\n", sites[i].name,
				      t->bytes, t->blocks, t->kept_bytes, t->kept_blocks);

		if (write(1, line, (size_t)length) != length)
			_exit(99);
	}
}

int main(int argc, char **argv)
{
	unsigned long scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_t other;

	if (pthread_create(&other, NULL, free_others, NULL))
		return 3;
	do
		work(scale ? scale : 1);
	while (!scale);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	for (unsigned i = 0; i < SLOTS; i++) {
		free(slots[i]);
		free(window[i]);
	}
	print_truth();
	return 0;
}
