/* Outer frames that change while the inner ones lie where they lay, with the same return addresses: callers of one shape that
 * take turns, directly and one level farther out, and one that is called through a pointer. */
#include "tests/targets/chains/chain.h"

#define ROUNDS 100

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void shared(size_t size)
{
	grab(size);
	grab(size);
	STAY;
}

FRAME static void between(size_t size)
{
	shared(size);
	STAY;
}

#define CALLER(name, callee)                                                                       \
	FRAME static void name(size_t size)                                                        \
	{                                                                                          \
		callee(size);                                                                      \
		STAY;                                                                              \
	}
CALLER(red, shared)
CALLER(green, shared)
CALLER(blue, shared)
CALLER(far_red, between)
CALLER(far_green, between)

FRAME static void turn(void (*caller)(size_t), size_t size)
{
	caller(size);
	STAY;
}

int main(void)
{
	static void (*const callers[])(size_t) = {red, green, blue, far_red, far_green};
	const unsigned long n = 2 * ROUNDS;

	truth("site", "red", n, n * 40, START "main;turn;red;shared;grab");
	truth("site", "green", n, n * 40, START "main;turn;green;shared;grab");
	truth("site", "blue", n, n * 40, START "main;turn;blue;shared;grab");
	truth("site", "far-red", n, n * 40, START "main;turn;far_red;between;shared;grab");
	truth("site", "far-green", n, n * 40, START "main;turn;far_green;between;shared;grab");
	truth("gone", "far-green", n, n * 40, START "main;turn;far_green;between;shared;grab");
	for (int i = 0; i < ROUNDS; i++)
		for (int j = 0; j < 5; j++)
			turn(callers[(i * 3 + j) % 5], 40);
	return 8;
}
