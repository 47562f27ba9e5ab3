/* Frames of many shapes between the test and its hook. Compiled by each C compiler that is here. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

void shapes_run(void (*hook)(void));

#define NOINLINE __attribute__((noinline))

static void (*call)(void);
static volatile int sink;

static int by_value(const void *a, const void *b)
{
	call();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int recurse(int depth, long a, long b, long c, long d, long e, long f, long g)
{
	volatile char pad[200];

	pad[depth] = 1;
	if (depth)
		sink += recurse(depth - 1, b, c, d, e, f, g, a + depth);
	call();
	return (int)(a + b * c - d / (e | 1) + f + g + pad[depth]);
}

static NOINLINE void variable(int words)
{
	char array[words * 8];

	memset(array, 1, sizeof(array));
	call();
	sink += array[words];
}

static NOINLINE void aligned(void)
{
	char block[128] __attribute__((aligned(128)));

	memset(block, 1, sizeof(block));
	call();
	sink += block[3];
}

static NOINLINE void aligned_variable(int words)
{
	char block[128] __attribute__((aligned(128)));
	char array[words];

	memset(block, 1, sizeof(block));
	memset(array, 1, sizeof(array));
	call();
	sink += block[3] + array[2];
}

/* (gcc writes no tables for MIPS64: its frames are read out of the code, and those above 256 KiB
 * are not.) */
#ifdef __mips__
#define LARGE 200000
#else
#define LARGE 300000
#endif

static NOINLINE void large(void)
{
	char array[LARGE];

	memset(array, sink, sizeof(array));
	call();
	sink += array[77777];
}

static NOINLINE void jumps(void)
{
	static jmp_buf target;

	if (!setjmp(target)) {
		call();
		longjmp(target, 1);
	}
	call();
}

static NOINLINE void by_case(int which)
{
	switch (which) {
	case 0:
		variable(7);
		break;
	case 1:
		aligned();
		call();
		break;
	case 2:
		call();
		aligned_variable(30);
		break;
	case 3:
		large();
		break;
	case 4:
		jumps();
		break;
	case 5:
		call();
		break;
	default:
		sink += recurse(5, 1, 2, 3, 4, 5, 6, 7);
	}
}

void shapes_run(void (*hook)(void))
{
	int values[12];

	call = hook;
	for (int i = 0; i < 12; i++)
		values[i] = i * 7 % 12;
	qsort(values, 12, sizeof(values[0]), by_value);
	for (int i = 0; i < 7; i++)
		by_case(i);
	sink += recurse(10, 1, 2, 3, 4, 5, 6, 7);
}
