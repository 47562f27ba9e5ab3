/* An allocator whose operators call malloc and free by name, through the loader's tables: each is one
 * event, not two. */
#include <cstddef>
#include <new>

extern "C" void *__libc_malloc(std::size_t size);
extern "C" void __libc_free(void *p);

#define SHOWN __attribute__((visibility("default")))

extern "C" SHOWN void *malloc(std::size_t size)
{
	return __libc_malloc(size);
}

extern "C" SHOWN void free(void *p)
{
	__libc_free(p);
}

SHOWN void *operator new(std::size_t size)
{
	void *p = malloc(size);

	if (!p)
		throw std::bad_alloc();
	return p;
}

SHOWN void operator delete(void *p) noexcept
{
	free(p);
}

SHOWN void operator delete(void *p, std::size_t) noexcept
{
	free(p);
}
