/* An allocator under mimalloc's names, whose new throws: over malloc, which it calls by name. */
#include <cstdint>
#include <cstdlib>
#include <new>

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN void *mi_malloc(std::size_t size)
{
	return std::malloc(size);
}

SHOWN void mi_free(void *p)
{
	std::free(p);
}

SHOWN void *mi_new(std::size_t size)
{
	void *p = size < SIZE_MAX / 2 ? mi_malloc(size) : nullptr;

	if (!p)
		throw std::bad_alloc();
	return p;
}
