// A C++ program with an allocator linked into it that has operators of its own: each form from a place of its own; one that
// throws.
#include "tests/targets/chains/chain.h"

#include <cstdint>
#include <new>

#define ROUNDS 200ul

struct wide {
	alignas(128) char bytes[384];
};

FRAME static void single()
{
	delete static_cast<long *>(keep(new long(7)));
	STAY;
}

FRAME static void array()
{
	delete[] static_cast<long *>(keep(new long[9]));
	STAY;
}

FRAME static void refusing()
{
	void *p = keep(::operator new(72, std::nothrow));

	::operator delete(p, std::nothrow);
	STAY;
}

FRAME static void aligned()
{
	wide *p = static_cast<wide *>(keep(new wide));

	if (reinterpret_cast<std::uintptr_t>(p) & 127)
		_exit(90);
	delete p;
	STAY;
}

FRAME static void sized()
{
	::operator delete(keep(::operator new(88)), std::size_t(88));
	STAY;
}

// Both ways at once: what new gave, free takes, as allocators that have both allow.
FRAME static void plain()
{
	free(keep(malloc(40)));
	STAY;
}

FRAME static bool thrown()
{
	volatile std::size_t size = SIZE_MAX / 4;
	bool caught = false;

	try {
		keep(::operator new(size));
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	STAY;
	return caught;
}

int main()
{
	const unsigned long n = ROUNDS;

	truth("site", "single", n, n * 8, START "main;single");
	truth("gone", "single", n, n * 8, START "main;single");
	truth("site", "array", n, n * 72, START "main;array");
	truth("gone", "array", n, n * 72, START "main;array");
	truth("site", "refusing", n, n * 72, START "main;refusing");
	truth("gone", "refusing", n, n * 72, START "main;refusing");
	truth("site", "aligned", n, n * 384, START "main;aligned");
	truth("gone", "aligned", n, n * 384, START "main;aligned");
	truth("site", "sized", n, n * 88, START "main;sized");
	truth("gone", "sized", n, n * 88, START "main;sized");
	truth("site", "plain", n, n * 40, START "main;plain");
	truth("gone", "plain", n, n * 40, START "main;plain");
	for (unsigned long i = 0; i < n; i++) {
		single();
		array();
		refusing();
		aligned();
		sized();
		plain();
		if (!thrown())
			return 91;
	}
	return 22;
}
