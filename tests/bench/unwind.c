/*
 * Nanoseconds for one captured stack at depths 10, 20 and 60, in one run: the verified prefix, our
 * full walk, libunwind's unw_backtrace and glibc's backtrace. The program has no frame pointers.
 * Four patterns of change between captures:
 *
 *   same      the stack is the same every time
 *   leaf      the innermost function is one of eight
 *   three     each of the three innermost functions is one of eight, at random
 *   all       one of eight functions near main calls all others, so each frame is a new one
 *
 * Each number is the best of many short runs, less what the same calls cost with an empty hook.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/unwind/regs.h"
#include "tests/unit/unwind/modules.h"

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define NOINLINE   __attribute__((noinline))
#define BUDGET_NS  200e6 /* for one number */
#define EVENTS	   4096
#define FRAMES_MAX 128

static struct unwind_thread *thread;
static void (*hook)(void);
static volatile uint64_t sink;
static int (*libc_backtrace)(void **, int); /* libunwind exports one of that name too */
static uint8_t choices[EVENTS][3];

static NOINLINE void hook_empty(void)
{
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void hook_prefix(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta;

	unwind_regs_here(&regs);
	unwind_capture(thread, &regs, 256, &delta);
	sink += delta.count;
}

static NOINLINE void hook_full(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta;

	unwind_regs_here(&regs);
	unwind_capture_full(thread, &regs, 256, &delta);
	sink += delta.count;
}

static NOINLINE void hook_glibc(void)
{
	void *pcs[FRAMES_MAX];

	sink += (uint64_t)libc_backtrace(pcs, FRAMES_MAX);
}

#ifdef HAVE_LIBUNWIND
static NOINLINE void hook_libunwind(void)
{
	void *pcs[FRAMES_MAX];

	sink += (uint64_t)unw_backtrace(pcs, FRAMES_MAX);
}
#endif

/* Frames of mixed shapes: none, an array, callee-saved registers. */
#define SHAPE(name, call, words)                                                                   \
	static NOINLINE void name(const uint8_t *choice)                                           \
	{                                                                                          \
		volatile uint64_t array[words];                                                    \
		uint64_t a = sink, b = a ^ words, c = a + b;                                       \
                                                                                                   \
		array[(words)-1] = a;                                                              \
		call;                                                                              \
		sink = array[(words)-1] + b * (words) + c;                                         \
		(void)choice;                                                                      \
	}
#define EIGHT(prefix, call)                                                                        \
	SHAPE(prefix##0, call, 1)                                                                  \
	SHAPE(prefix##1, call, 2)                                                                  \
	SHAPE(prefix##2, call, 3)                                                                  \
	SHAPE(prefix##3, call, 5)                                                                  \
	SHAPE(prefix##4, call, 9)                                                                  \
	SHAPE(prefix##5, call, 17)                                                                 \
	SHAPE(prefix##6, call, 21)                                                                 \
	SHAPE(prefix##7, call, 33)                                                                 \
	static void (*const prefix[])(const uint8_t *) = {prefix##0, prefix##1, prefix##2,         \
							  prefix##3, prefix##4, prefix##5,         \
							  prefix##6, prefix##7};

EIGHT(leaf, hook())
EIGHT(middle, leaf[choice[2]](choice))
EIGHT(outer, middle[choice[1]](choice))

static unsigned below; /* frames of `fall` */

static NOINLINE void fall(unsigned more)
{
	volatile uint64_t array[7];

	array[more % 7] = more;
	if (more)
		fall(more - 1);
	else
		hook();
	sink += array[more % 7];
}

EIGHT(far, fall(below))

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best;

static NOINLINE void run(bool all)
{
	double end = now_ns() + BUDGET_NS;

	while (now_ns() < end) {
		double from = now_ns(), took;

		for (unsigned i = 0; i < EVENTS; i++)
			(all ? far : outer)[choices[i][0]](choices[i]);
		took = (now_ns() - from) / EVENTS;
		best = took < best ? took : best;
	}
}

static NOINLINE void deepen(unsigned more, bool all)
{
	volatile uint64_t array[7];

	array[more % 7] = more;
	if (more)
		deepen(more - 1, all);
	else
		run(all);
	sink += array[more % 7];
}

static double measure(void (*with)(void), unsigned frames, bool all)
{
	hook = with;
	best = 1e18;
	below = frames;
	deepen(all ? 0 : frames, all);
	return best;
}

static void choose(const char *pattern)
{
	uint64_t random = 88172645463325252ull;

	for (unsigned i = 0; i < EVENTS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		choices[i][0] = *pattern == 't' || *pattern == 'a' ? random >> 20 & 7 : 3;
		choices[i][1] = *pattern == 't' ? random >> 30 & 7 : 4;
		choices[i][2] = *pattern != 's' ? random >> 40 & 7 : 5;
	}
}

int main(void)
{
	static const struct unwind_host host = {
		.find_module = host_loaded, .readable = host_readable, .pages = host_pages};
	static const char *const patterns[] = {"same", "leaf", "three", "all"};
	static const unsigned depths[] = {10, 20, 60};
	unsigned around; /* frames below deepen(0)'s caller and above the hook */
	void *pcs[FRAMES_MAX];

	dl_iterate_phdr(host_add_module, NULL);
	unwind_init(&host);
	thread = unwind_thread_init(host_pages(NULL, UNWIND_THREAD_SIZE));
	libc_backtrace = (int (*)(void **, int))dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	around = (unsigned)libc_backtrace(pcs, FRAMES_MAX) + 1 /* measure */ +
		 2 /* deepen(0), run */ + 3;
	printf("%-8s %5s %10s %10s %10s %10s   ns per capture\n", "pattern", "depth", "prefix",
	       "full walk", "libunwind", "glibc");
	for (unsigned p = 0; p < 4; p++) {
		bool all = *patterns[p] == 'a';

		choose(patterns[p]);
		for (unsigned d = 0; d < 3; d++) {
			unsigned more = depths[d] > around ? depths[d] - around : 0;
			double empty = measure(hook_empty, more, all);

			printf("%-8s %5u %10.1f %10.1f", patterns[p], depths[d],
			       measure(hook_prefix, more, all) - empty,
			       measure(hook_full, more, all) - empty);
#ifdef HAVE_LIBUNWIND
			printf(" %10.1f", measure(hook_libunwind, more, all) - empty);
#else
			printf(" %10s", "-");
#endif
			printf(" %10.1f\n", measure(hook_glibc, more, all) - empty);
		}
	}
	return 0;
}
