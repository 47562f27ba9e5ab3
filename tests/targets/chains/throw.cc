/* Exceptions: thrown at several depths, through frames with clean-ups that allocate, caught, thrown on, caught again. After
 * each the stack is another one than the recorder has seen last. */
#include "tests/targets/chains/chain.h"

static const int rounds = 60;

FRAME static void clean_up()
{
	free(keep(malloc(32)));
	STAY;
}

FRAME static void before(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

struct guard {
	~guard()
	{
		clean_up();
	}
};

FRAME static void thrower(int round)
{
	before(48);
	if (round >= 0)
		throw round;
	STAY;
}

FRAME static void guarded(int round)
{
	guard g;

	thrower(round);
	STAY;
}

FRAME static void deeper(int round, int depth)
{
	if (depth)
		deeper(round, depth - 1);
	else
		guarded(round);
	STAY;
}

FRAME static void again(int round)
{
	try {
		deeper(round, round % 2 ? 3 : 0);
	} catch (int &caught) {
		before(56);
		throw;
	}
	STAY;
}

FRAME static int catcher(int round)
{
	int got = 0;

	try {
		again(round);
	} catch (int caught) {
		before(64);
		got = caught == round;
	}
	before(80);
	return got;
}

int main()
{
	const unsigned long n = rounds, half = n / 2;
	int good = 0;

	truth("site", "thrown", half, half * 48,
	      START "main;catcher;again;deeper;guarded;thrower;before");
	truth("site", "thrown-deep", half, half * 48,
	      START "main;catcher;again;deeper;deeper;deeper;deeper;guarded;thrower;before");
	truth_sizeless("site", "exception", half,
		       START "main;catcher;again;deeper;guarded;thrower;*");
	truth_sizeless("site", "exception-deep", half,
		       START "main;catcher;again;deeper;deeper;deeper;deeper;guarded;thrower;*");
	truth("site", "clean-up", half, half * 32,
	      START "main;catcher;again;deeper;guarded;guard::~guard;clean_up");
	truth("site", "clean-up-deep", half, half * 32,
	      START
	      "main;catcher;again;deeper;deeper;deeper;deeper;guarded;guard::~guard;clean_up");
	truth("site", "thrown-on", n, n * 56, START "main;catcher;again;before");
	truth("site", "caught", 2 * n, n * (64 + 80), START "main;catcher;before");
	for (int i = 0; i < rounds; i++)
		good += catcher(i);
	return good == rounds ? 12 : 1;
}
