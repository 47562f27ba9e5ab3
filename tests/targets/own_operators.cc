/* Operators of the program's own (or a plugin's), each form of them: over malloc (OWN_MALLOC), or out
 * of a static pool that nobody else sees (OWN_POOL). Says how often they were called. */
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/targets/target.h"

static unsigned long news, deletes;

#ifdef OWN_POOL
static char room[1 << 20];
static std::size_t used;

static void *take(std::size_t size, std::size_t alignment)
{
	used = (used + alignment - 1) & ~(alignment - 1);
	used += size;
	news++;
	return room + used - size;
}

static void give(void *)
{
	deletes++;
}
#else
static void *take(std::size_t size, std::size_t alignment)
{
	news++;
	return alignment > 16 ? std::aligned_alloc(alignment, size) : std::malloc(size);
}

static void give(void *p)
{
	deletes++;
	std::free(p);
}
#endif

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void *operator new(size_t n)
{
	return take(n, 16);
}
void *operator new[](size_t n)
{
	return take(n, 16);
}
void *operator new(size_t n, const nothrow_t &) noexcept
{
	return take(n, 16);
}
void *operator new[](size_t n, const nothrow_t &) noexcept
{
	return take(n, 16);
}
void *operator new(size_t n, align_val_t a)
{
	return take(n, (size_t)a);
}
void *operator new[](size_t n, align_val_t a)
{
	return take(n, (size_t)a);
}
void *operator new(size_t n, align_val_t a, const nothrow_t &) noexcept
{
	return take(n, (size_t)a);
}
void *operator new[](size_t n, align_val_t a, const nothrow_t &) noexcept
{
	return take(n, (size_t)a);
}
void operator delete(void *p) noexcept
{
	give(p);
}
void operator delete[](void *p) noexcept
{
	give(p);
}
void operator delete(void *p, size_t) noexcept
{
	give(p);
}
void operator delete[](void *p, size_t) noexcept
{
	give(p);
}
void operator delete(void *p, const nothrow_t &) noexcept
{
	give(p);
}
void operator delete[](void *p, const nothrow_t &) noexcept
{
	give(p);
}
void operator delete(void *p, align_val_t) noexcept
{
	give(p);
}
void operator delete[](void *p, align_val_t) noexcept
{
	give(p);
}
void operator delete(void *p, size_t, align_val_t) noexcept
{
	give(p);
}
void operator delete[](void *p, size_t, align_val_t) noexcept
{
	give(p);
}
void operator delete(void *p, align_val_t, const nothrow_t &) noexcept
{
	give(p);
}
void operator delete[](void *p, align_val_t, const nothrow_t &) noexcept
{
	give(p);
}

/* 10 births and deaths; in the last two the forms do not match, as in programs that are wrong. */
static __attribute__((noinline)) void work(size_t size)
{
	constexpr align_val_t line{64};

	::operator delete(use(::operator new(size)));
	::operator delete[](use(::operator new[](size)));
	::operator delete(use(::operator new(size)), size);
	::operator delete[](use(::operator new[](size)), size);
	::operator delete(use(::operator new(size, std::nothrow)), std::nothrow);
	::operator delete[](use(::operator new[](size, std::nothrow)), std::nothrow);
	::operator delete(use(::operator new(size, line)), size, line);
	::operator delete[](use(::operator new[](size, line, std::nothrow)), line, std::nothrow);
	::operator delete(use(::operator new[](size)));
	::operator delete(use(::operator new(size, line)));
}

#define TIMES 20u

extern "C" __attribute__((visibility("default"))) unsigned plugin_work(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		work(own(200));
	return 3;
}

#ifndef OWN_PLUGIN
int main()
{
	unsigned long before = news;

	plugin_work(TIMES);
	say("news", news - before);
	say("allocations", 10 * TIMES);
	say("frees", 10 * TIMES);
	return news - before != 10 * TIMES;
}
#endif
