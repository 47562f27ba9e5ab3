/* exec [STAGE]: three programs, one after another, in one process and one recording. */
#include "tests/targets/chains/chain.h"

FRAME static void grab(size_t size, int count)
{
	for (int i = 0; i < count; i++)
		(void)keep(malloc(size));
	STAY;
}

FRAME static void first(void)
{
	grab(48, 100);
	STAY;
}

FRAME static void second(void)
{
	grab(56, 200);
	STAY;
}

FRAME static void third(void)
{
	grab(64, 300);
	STAY;
}

int main(int argc, char **argv)
{
	int stage = argc > 1 ? argv[1][0] - '0' : 1;

	if (stage == 3) {
		third();
		return 9;
	}
	if (stage == 1) {
		truth("site", "first", 100, 4800, START "main;first;grab");
		truth("site", "second", 200, 11200, START "main;second;grab");
		truth("site", "third", 300, 19200, START "main;third;grab");
		first();
	} else {
		second();
	}
	execl(argv[0], argv[0], stage == 1 ? "2" : "3", NULL);
	return 1;
}
