/* The C API in C++: an arena that tells what it hands out. */
#include <cstddef>
#include <cstdlib>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

namespace
{

class arena
{
      public:
	void *take(std::size_t size)
	{
		void *p = room + used;

		used += (size + 15) / 16 * 16;
		if (heapcast_pool_allocate)
			heapcast_pool_allocate(this, p, size);
		return p;
	}

	void give(void *p)
	{
		if (heapcast_pool_free)
			heapcast_pool_free(this, p);
	}

      private:
	std::size_t used = 0;
	char room[4096];
};

} // namespace

int main()
{
	arena *a = new arena;
	void *first = a->take(own(48)), *second = a->take(own(64));

	a->give(second);
	a->give(first);
	delete static_cast<arena *>(use(a));
	say("pool", 2);
	return 0;
}
