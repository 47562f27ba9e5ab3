// Operators of its own: new over malloc, two calls deep and with a mark in front of each block; new[] out of a pool.
#include <cstdio>
#include <cstdlib>
#include <new>

static char pool[4096];
static std::size_t used;

__attribute__((noinline)) static void *marked(std::size_t size)
{
	char *block = static_cast<char *>(std::malloc(size + 16));

	if (!block)
		throw std::bad_alloc();
	return block + 16;
}

__attribute__((noinline)) static void unmarked(void *block)
{
	if (block)
		std::free(static_cast<char *>(block) - 16);
}

void *operator new(std::size_t size)
{
	std::puts("new");
	return marked(size);
}

void operator delete(void *block) noexcept
{
	std::puts("delete");
	unmarked(block);
}

void *operator new[](std::size_t size)
{
	void *block = pool + used;

	if (size > sizeof(pool) - used)
		throw std::bad_alloc();
	used += size;
	std::puts("new[]");
	return block;
}

void operator delete[](void *) noexcept
{
	std::puts("delete[]");
}

int main()
{
	int *one = new int(1), *row = new int[9];

	std::printf("%d %d\n", *one, row[0]);
	operator delete(one);
	operator delete[](row);
	return 0;
}
