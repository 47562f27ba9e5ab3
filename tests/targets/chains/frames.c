/* Frames of every shape: leaves, recursion, room whose size is known late (alloca, arrays), large frames, arguments on the stack, a last
 * call that never returns, a last call that is a jump, and libc's calls back (qsort, bsearch). Compiled several times: see
 * CMakeLists.txt. */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 20

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void again(int depth)
{
	if (depth)
		again(depth - 1);
	else
		grab(41);
	STAY;
}

FRAME static void by_alloca(size_t room)
{
	char *p = alloca(room);

	p[0] = p[room - 1] = 1;
	keep(p);
	grab(42);
	STAY;
}

FRAME static void by_array(size_t room)
{
	char array[room];

	array[0] = array[room - 1] = 1;
	keep(array);
	again(0);
	STAY;
}

FRAME static void large(void)
{
	char room[120000];

	room[0] = room[sizeof(room) - 1] = 1;
	keep(room);
	grab(43);
	STAY;
}

FRAME static void many(int count, ...)
{
	size_t last = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		last = va_arg(list, size_t);
	va_end(list);
	grab(last);
	STAY;
}

static jmp_buf back;

FRAME static __attribute__((noreturn)) void never(void)
{
	grab(45);
	longjmp(back, 1);
}

FRAME static void ends(void)
{
	STAY;
	never();
}

/* Who jumps to another function is no frame any more. */
FRAME static __attribute__((optimize("optimize-sibling-calls"))) void hands_on(size_t size)
{
	STAY;
	grab(size);
}

FRAME static int compare(const void *a, const void *b)
{
	grab(47);
	STAY;
	return *(const int *)a - *(const int *)b;
}

FRAME static void sorts(void)
{
	int list[2] = {2, 1};

	qsort(list, 2, sizeof(list[0]), compare);
	STAY;
}

FRAME static int look(const void *a, const void *b)
{
	(void)a;
	(void)b;
	grab(48);
	STAY;
	return 0;
}

FRAME static void searches(void)
{
	/* libc's own, not what its header has for compilers */
	void *(*volatile search)(const void *, const void *, size_t, size_t,
				 int (*)(const void *, const void *)) = bsearch;
	int list[1] = {1};

	keep(search(list, list, 1, sizeof(list[0]), look));
	STAY;
}

int main(void)
{
	const unsigned long n = ROUNDS;

	truth("site", "recursion", n, n * 41, START "main;again;again;again;again;grab");
	truth("site", "alloca", n, n * 42, START "main;by_alloca;grab");
	truth("site", "array", n, n * 41, START "main;by_array;again;grab");
	truth("site", "large", n, n * 43, START "main;large;grab");
	truth("site", "many", n, n * 44, START "main;many;grab");
	truth("site", "never", n, n * 45, START "main;ends;never;grab");
	truth("site", "qsort", n, n * 47, START "main;sorts;*;compare;grab");
	truth("site", "bsearch", n, n * 48, START "main;searches;*;look;grab");
#ifdef __OPTIMIZE__
	truth("site", "tail", n, n * 46, START "main;grab");
#else
	truth("site", "tail", n, n * 46, START "main;hands_on;grab");
#endif
	for (volatile int i = 0; i < ROUNDS; i++) {
		again(3);
		by_alloca((size_t)(100 + 16 * i));
		by_array((size_t)(100 + 7 * i));
		large();
		many(12, 1l, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l, 10l, 11l, 44l);
		if (!setjmp(back))
			ends();
		hands_on(46);
		sorts();
		searches();
	}
	return 17;
}
