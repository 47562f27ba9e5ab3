/*
 * Work that a recorder can't make easy for itself:   bench-rise COUNT DEPTH STACKS
 *
 * COUNT events, a malloc or a free each. Each comes at the end of a way of its own, down from main
 * and up again, so nothing of a stack is left when the next one begins. There are STACKS ways, of
 * DEPTH - 4 to DEPTH frames. At each frame a bit of the way's number says which of two functions is
 * called, so two ways part near main.
 *
 * The lower 60 frames are functions of their own: what is compared with us keeps a node for each
 * repetition, and runs out of memory (churn.c). What DEPTH has above that recurses.
 *
 * Prints the nanoseconds per event of its loop.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WINDOW	   1024
#define MAX_DEPTH  1000
#define MAX_STACKS (1 << 20)
#define DEPTHS	   5 /* that the ways differ in */

struct worker {
	uint64_t random;
	unsigned way;  /* its number */
	unsigned bits; /* the number of its bits */
	void **place;  /* of the block that goes, or comes */
	void *window[WINDOW];
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* The end of the way. It takes what is there, or puts something there. */
static void level_0(struct worker *w)
{
	if (*w->place) {
		free(*w->place);
		*w->place = NULL;
	} else {
		*w->place = malloc(16 + (w->random & 255));
	}
}

/* Which of two functions is called at a frame. */
static inline unsigned turn(const struct worker *w, unsigned frame)
{
	return w->way >> (frame % w->bits) & 1;
}

typedef void (*level_fn)(struct worker *);

/* left_N and right_N call one of the two below. They differ, so that compilers don't make one of
 * both. */
#define SIDE(side, mark, n, below, left_below, right_below)                                        \
	__attribute__((noinline)) static void side##_##n(struct worker *w)                         \
	{                                                                                          \
		if (turn(w, below))                                                                \
			left_below(w);                                                             \
		else                                                                               \
			right_below(w);                                                            \
		__asm__ volatile("" : : "i"(mark));                                                \
	}
#define LEVEL(n, below)                                                                            \
	SIDE(left, 1, n, below, left_##below, right_##below)                                       \
	SIDE(right, 2, n, below, left_##below, right_##below)
/* clang-format off */
SIDE(left, 1, 1, 0, level_0, level_0) SIDE(right, 2, 1, 0, level_0, level_0)
LEVEL(2, 1) LEVEL(3, 2) LEVEL(4, 3) LEVEL(5, 4) LEVEL(6, 5) LEVEL(7, 6) LEVEL(8, 7) LEVEL(9, 8)
#define NINE_LEVELS(t)                                                                             \
	LEVEL(t##1, t##0) LEVEL(t##2, t##1) LEVEL(t##3, t##2) LEVEL(t##4, t##3)                    \
	LEVEL(t##5, t##4) LEVEL(t##6, t##5) LEVEL(t##7, t##6) LEVEL(t##8, t##7) LEVEL(t##9, t##8)
LEVEL(10, 9) NINE_LEVELS(1) LEVEL(20, 19) NINE_LEVELS(2) LEVEL(30, 29) NINE_LEVELS(3)
LEVEL(40, 39) NINE_LEVELS(4) LEVEL(50, 49) NINE_LEVELS(5) LEVEL(60, 59)
#define TEN_NAMES(side, t)                                                                         \
	side##_##t##0, side##_##t##1, side##_##t##2, side##_##t##3, side##_##t##4, side##_##t##5,  \
	side##_##t##6, side##_##t##7, side##_##t##8, side##_##t##9
#define NAMES(side)                                                                                \
	{                                                                                          \
		level_0, side##_1, side##_2, side##_3, side##_4, side##_5, side##_6, side##_7,     \
		side##_8, side##_9, TEN_NAMES(side, 1), TEN_NAMES(side, 2), TEN_NAMES(side, 3),    \
		TEN_NAMES(side, 4), TEN_NAMES(side, 5), side##_60,                                 \
	}
	/* clang-format on */
	static const level_fn levels[2][61] = {NAMES(right), NAMES(left)};
#define OWN_DEPTH (sizeof(levels[0]) / sizeof(levels[0][0]) - 1)

static void descend(struct worker *w, unsigned depth);

/* Different, so that compilers don't make one of both. */
__attribute__((noinline)) static void recurse_left(struct worker *w, unsigned depth)
{
	descend(w, depth - 1);
	__asm__ volatile("" : : "i"(1));
}

__attribute__((noinline)) static void recurse_right(struct worker *w, unsigned depth)
{
	descend(w, depth - 1);
	__asm__ volatile("" : : "i"(2));
}

static inline __attribute__((always_inline)) void descend(struct worker *w, unsigned depth)
{
	if (depth <= OWN_DEPTH)
		levels[turn(w, depth)][depth](w);
	else if (turn(w, depth))
		recurse_left(w, depth);
	else
		recurse_right(w, depth);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void work(struct worker *w, unsigned long events, unsigned depth, unsigned ways)
{
	while ((ways - 1) >> w->bits)
		w->bits++;
	for (unsigned long i = 0; i < events; i++) {
		uint64_t random = next_random(w);

		w->place = &w->window[random % WINDOW];
		w->way = (unsigned)((random >> 32) % ways);
		descend(w, depth - w->way % DEPTHS);
	}
}

int main(int argc, char **argv)
{
	static struct worker worker = {.random = 88172645463325252ull, .bits = 1};
	unsigned long events = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	unsigned long depth = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
	unsigned long ways = argc > 3 ? strtoul(argv[3], NULL, 10) : 15;
	double started;

	if (!events || depth < DEPTHS || depth > MAX_DEPTH || !ways || ways > MAX_STACKS) {
		fprintf(stderr, "usage: bench-rise COUNT DEPTH STACKS, DEPTH %d to %d\n", DEPTHS,
			MAX_DEPTH);
		return 2;
	}
	started = seconds();
	work(&worker, events, (unsigned)depth, (unsigned)ways);
	printf("%.1f\n", (seconds() - started) * 1e9 / (double)events);
	return 0;
}
