/* A plugin in C++, for a program that knows no C++: new and delete, and an exception that stays inside. */
#include <cstdint>
#include <new>

#include "tests/targets/target.h"

extern "C" __attribute__((visibility("default"))) unsigned plugin_work(unsigned times)
{
	/* (Half of all addresses can be had by a 32-bit program on a kernel of 64.) */
	volatile std::size_t too_much = sizeof(std::size_t) == 4 ? SIZE_MAX - 4096 : PTRDIFF_MAX - 64;
	unsigned caught = 0;

	for (unsigned i = 0; i < times; i++)
		delete[] static_cast<char *>(use(new char[own(200)]));
	try {
		use(::operator new(too_much));
	} catch (const std::bad_alloc &) {
		caught++;
	}
	return caught;
}
