/* cxx [kind]: a static map, every form of operator new and delete, one that throws (not if it is to
 * be kind), one that gives NULL. Its own blocks bear the tag; those with an alignment are counted
 * apart, because libstdc++ rounds their size up. */
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>

#include "tests/targets/target.h"

/* (Half of all addresses can be had by a 32-bit program on a kernel of 64.) */
static constexpr std::size_t huge = sizeof(std::size_t) == 4 ? SIZE_MAX - 4096 : PTRDIFF_MAX - 64;
static constexpr std::align_val_t line{64};
static constexpr unsigned entries = 1000;

static unsigned long allocations, frees, aligned;

static std::map<int, int> filled()
{
	std::map<int, int> map;

	for (unsigned i = 0; i < entries; i++)
		map[(int)i] = (int)i;
	return map;
}

static std::map<int, int> numbers = filled();

static void unaligned(std::size_t size)
{
	::operator delete(use(::operator new(size)));
	::operator delete[](use(::operator new[](size)));
	::operator delete(use(::operator new(size)), size);
	::operator delete[](use(::operator new[](size)), size);
	::operator delete(use(::operator new(size, std::nothrow)), std::nothrow);
	::operator delete[](use(::operator new[](size, std::nothrow)), std::nothrow);
	std::free(use(std::malloc(size)));
	allocations += 7;
	frees += 7;
}

static void on_lines(std::size_t size)
{
	::operator delete(use(::operator new(size, line)), line);
	::operator delete[](use(::operator new[](size, line)), line);
	::operator delete(use(::operator new(size, line)), size, line);
	::operator delete[](use(::operator new[](size, line)), size, line);
	::operator delete(use(::operator new(size, line, std::nothrow)), line, std::nothrow);
	::operator delete[](use(::operator new[](size, line, std::nothrow)), line, std::nothrow);
	aligned += 6;
}

/* Frames that no exception has seen, over what the one before has left. */
static __attribute__((noinline)) void deeper(int depth)
{
	volatile char room[200];

	room[0] = (char)depth;
	if (depth > 0)
		deeper(depth - 1);
	else
		unaligned(own(100));
	room[1] = room[0];
}

static unsigned fail(std::size_t size)
{
	unsigned caught = 0;

	for (int i = 0; i < 10; i++) {
		try {
			use(::operator new(size));
		} catch (const std::bad_alloc &) {
			caught++;
			deeper(i); /* the first hooks after the one that was left: further down */
		}
		deeper(i);
	}
	return caught;
}

int main(int argc, char **)
{
	volatile std::size_t too_much = huge;
	void *kept = use(new char[own(320)]);
	unsigned nulls = 0;

	for (std::size_t size = own(16); size < 4000; size += 16) {
		unaligned(size);
		on_lines(size);
	}
	say("caught", argc > 1 ? 0 : fail(too_much));
	for (int i = 0; i < 10; i++)
		nulls += !use(::operator new(too_much, std::nothrow));
	for (int i = 0; i < 5; i++)
		deeper(i);
	say("nulls", nulls);
	say("entries", numbers.size());
	say("entry_size", sizeof(std::_Rb_tree_node<std::pair<const int, int>>));
	say("allocations", allocations + 1);
	say("frees", frees);
	say("aligned", aligned);
	return kept ? 3 : 4;
}
