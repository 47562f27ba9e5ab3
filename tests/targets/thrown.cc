/* An allocator's function, found by its name, that throws in every fifth call; the hooks behind that are deeper, or not. */
#include <cstdint>
#include <new>

#include "tests/targets/target.h"

extern "C" void *mi_new(std::size_t size);
extern "C" void *mi_malloc(std::size_t size);
extern "C" void mi_free(void *p);

static __attribute__((noinline)) void deeper(int depth)
{
	volatile char room[100];

	room[0] = (char)depth;
	if (depth > 0)
		deeper(depth - 1);
	else
		mi_free(use(mi_malloc(own(80))));
	room[1] = room[0];
}

int main()
{
	unsigned long allocations = 0, caught = 0;

	for (int i = 0; i < 50; i++) {
		try {
			mi_free(use(mi_new(i % 5 ? own(100) : SIZE_MAX - 4096)));
			allocations++;
		} catch (const std::bad_alloc &) {
			caught++;
		}
		deeper(i % 7);
		allocations++;
	}
	say("allocations", allocations);
	say("frees", allocations);
	say("caught", caught);
	return 0;
}
