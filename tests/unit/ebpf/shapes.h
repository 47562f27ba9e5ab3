#pragma once
/*
 * Random recursion through functions of many shapes: large frames, aligned ones, frames that grow,
 * frame pointers, callbacks of libc, signals, longjmp. What is done on the way is the includer's
 * hook(), and what is random its chance().
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unwind/host.h"

#pragma GCC diagnostic ignored "-Walloca" /* it is one of the shapes */

static void hook(void);
static unsigned chance(unsigned n); /* below n */

static void descend(int depth);
static volatile int sink;

static NOINLINE void shape_small(int depth)
{
	descend(depth);
	sink++;
}

static NOINLINE void shape_large(int depth)
{
	volatile char block[6000];

	block[depth] = 1;
	descend(depth);
	sink += block[depth];
}

static NOINLINE int shape_full(int depth, long a, long b, long c, long d, long e, long f, long g)
{
	descend(depth);
	return (int)(a + b * c - d / (e | 1) + f * g);
}

static NOINLINE void shape_alloca(int depth)
{
	unsigned size = 16 + chance(300);
	char *block = alloca(size);

	memset(block, depth, size);
	descend(depth);
	sink += block[size - 1];
}

static NOINLINE void shape_aligned(int depth)
{
	char block[64] __attribute__((aligned(64)));
	char *more = alloca(16 + chance(100));

	memset(block, depth, sizeof(block));
	more[0] = 1;
	descend(depth);
	sink += block[5] + more[0];
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void shape_fp(int depth)
{
	descend(depth);
	sink++;
}

static _Thread_local int depth_there;

static int by_value(const void *a, const void *b)
{
	if (depth_there) {
		int depth = depth_there;

		depth_there = 0;
		descend(depth);
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void shape_sort(int depth)
{
	int numbers[] = {3, 1, 2};

	depth_there = depth;
	qsort(numbers, 3, sizeof(numbers[0]), by_value);
	sink += numbers[0];
}

static NOINLINE void shape_search(int depth)
{
	static const int numbers[] = {1, 2, 3};
	int wanted = 3;

	depth_there = depth;
	sink += bsearch(&wanted, numbers, 3, sizeof(numbers[0]), by_value) != NULL;
}

static void on_signal(int number)
{
	int depth = depth_there;

	(void)number;
	depth_there = 0;
	descend(depth);
}

static NOINLINE void shape_signal(int depth)
{
	depth_there = depth;
	raise(SIGUSR1);
	sink++;
}

static NOINLINE void shape_jump(int depth)
{
	jmp_buf target;

	if (setjmp(target))
		return;
	descend(depth);
	longjmp(target, 1);
}

static NOINLINE void descend(int depth)
{
	if (depth <= 0 || !chance(7))
		hook();
	if (depth <= 0)
		return;
	depth--;
	switch (chance(40)) {
	case 0: /* seldom: the kernel leaves all stacks with a signal's frame to the agent */
		if (chance(8))
			shape_small(depth);
		else
			shape_signal(depth);
		break;
	case 1:
		shape_sort(depth);
		break;
	case 2:
		shape_search(depth);
		break;
	case 3:
		shape_jump(depth);
		break;
	case 4:
		shape_large(depth);
		break;
	case 5 ... 9:
		shape_alloca(depth);
		break;
	case 10 ... 12:
		shape_aligned(depth);
		break;
	case 13 ... 17:
		shape_fp(depth);
		break;
	case 18 ... 25:
		sink += shape_full(depth, 1, 2, 3, 4, 5, 6, 7);
		break;
	default:
		shape_small(depth);
	}
}
