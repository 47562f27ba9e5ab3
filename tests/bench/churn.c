/*
 * Work for measuring a recorder:   bench-churn COUNT DEPTH [THREADS], DEPTH at most 60
 *
 * COUNT events, a malloc or a free each, come from SITES call sites at stack depth DEPTH. They
 * replace blocks at random in a window of live blocks.
 *
 * Prints the nanoseconds per event of its loop, without start and end of the process. With one
 * thread a second line, "quiet N", is the tenth percentile over pieces of a few thousand events. In
 * these pieces nobody else had the processor, so the figure can be compared on a machine that does
 * other things, too.
 *
 * COUNT 0: one thread goes on until it is killed, and prints a line for each such piece.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WINDOW	    1024
#define MAX_THREADS 64
#define ROUND	    64	 /* pairs between two changes of depth */
#define PIECE	    2048 /* pairs that are timed at once */
#define MAX_PIECES  4096

struct worker {
	pthread_t thread;
	unsigned long events;
	unsigned depth;
	uint64_t random;
	void *window[WINDOW];
	double pieces[MAX_PIECES]; /* seconds */
	unsigned piece_count;
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Two events: one block goes, another takes its place. */
static inline void replace(struct worker *w, size_t size)
{
	void **place = &w->window[next_random(w) % WINDOW];

	free(*place);
	*place = malloc(size);
}

/* Eight call sites, so that stacks differ in their innermost frame. */
#define SITE(n)                                                                                    \
	__attribute__((noinline)) static void site_##n(struct worker *w)                           \
	{                                                                                          \
		replace(w, 16 + (next_random(w) & 255));                                           \
		__asm__ volatile("");                                                              \
	}
/* clang-format off */
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
	/* clang-format on */
	static void (*const sites[])(struct worker *) = {
		site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7,
};

/* The way down: level_N calls level_(N-1), and level_0 works. Functions of their own instead of one
 * that recurses: what is compared with us keeps a node for each repetition, and runs out of memory.
 */
static void level_0(struct worker *w, unsigned long pairs)
{
	for (unsigned long i = 0; i < pairs; i++)
		sites[next_random(w) % 8](w);
}

#define LEVEL(n, below)                                                                            \
	__attribute__((noinline)) static void level_##n(struct worker *w, unsigned long pairs)     \
	{                                                                                          \
		level_##below(w, pairs);                                                           \
		__asm__ volatile("");                                                              \
	}
/* clang-format off */
#define TEN_LEVELS(a, b)                                                                           \
	LEVEL(a##1, b) LEVEL(a##2, a##1) LEVEL(a##3, a##2) LEVEL(a##4, a##3) LEVEL(a##5, a##4)     \
	LEVEL(a##6, a##5) LEVEL(a##7, a##6) LEVEL(a##8, a##7) LEVEL(a##9, a##8) LEVEL(a##10, a##9)
/* clang-format on */
#define TEN_NAMES(a)                                                                               \
	level_##a##1, level_##a##2, level_##a##3, level_##a##4, level_##a##5, level_##a##6,        \
		level_##a##7, level_##a##8, level_##a##9, level_##a##10

/* clang-format off */
TEN_LEVELS(a, 0) TEN_LEVELS(b, a10) TEN_LEVELS(c, b10)
TEN_LEVELS(d, c10) TEN_LEVELS(e, d10) TEN_LEVELS(f, e10)
	/* clang-format on */
	static void (*const levels[])(struct worker *, unsigned long) = {
		level_0,      TEN_NAMES(a), TEN_NAMES(b), TEN_NAMES(c),
		TEN_NAMES(d), TEN_NAMES(e), TEN_NAMES(f),
};
#define MAX_DEPTH (sizeof(levels) / sizeof(levels[0]) - 1)

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Down, some work, up again: outer frames stay, inner ones change. */
static void replace_many(struct worker *w, unsigned long pairs)
{
	for (unsigned long done = 0; done < pairs; done += ROUND) {
		unsigned depth = w->depth - (unsigned)(next_random(w) % (w->depth / 4 + 1));

		levels[depth](w, pairs - done < ROUND ? pairs - done : ROUND);
	}
}

static void work_on(struct worker *w)
{
	for (double before = seconds(), now;; before = now) {
		replace_many(w, PIECE);
		now = seconds();
		printf("%.1f\n", (now - before) * 1e9 / (2 * PIECE));
		fflush(stdout);
	}
}

static void *work(void *argument)
{
	struct worker *w = argument;
	unsigned long pairs = w->events / 2;
	double before = seconds(), now;

	for (; pairs >= PIECE; pairs -= PIECE) {
		replace_many(w, PIECE);
		now = seconds();
		if (w->piece_count < MAX_PIECES)
			w->pieces[w->piece_count++] = now - before;
		before = now;
	}
	replace_many(w, pairs);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void say_quiet(struct worker *w)
{
	if (!w->piece_count)
		return;
	qsort(w->pieces, w->piece_count, sizeof(w->pieces[0]), compare);
	printf("quiet %.1f\n", w->pieces[w->piece_count / 10] * 1e9 / (2 * PIECE));
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	unsigned long events = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	unsigned depth = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
	unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
	double started;

	if (depth > MAX_DEPTH || !threads || threads > MAX_THREADS) {
		fprintf(stderr, "usage: bench-churn COUNT DEPTH [THREADS], DEPTH at most %zu\n",
			MAX_DEPTH);
		return 2;
	}
	started = seconds();
	for (unsigned i = 0; i < threads; i++) {
		workers[i].events = events / threads;
		workers[i].depth = depth;
		workers[i].random = 88172645463325252ull + i;
		if (!events)
			work_on(&workers[i]);
		else if (threads == 1)
			work(&workers[i]);
		else if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (unsigned i = 0; threads > 1 && i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%.1f\n", (seconds() - started) * 1e9 / (double)events);
	if (threads == 1)
		say_quiet(&workers[0]);
	return 0;
}
