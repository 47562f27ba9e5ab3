/* See compared.h: one library for each COMPARED_FIRST, COMPARED_SECOND. */
#include "tests/targets/compared.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define SHOWN __attribute__((visibility("default"), noinline))

#ifdef COMPARED_FIRST
namespace {
struct shape {
	virtual ~shape() = default;
	virtual std::shared_ptr<shape> copy(unsigned depth) = 0;
};

template <unsigned Size> struct sized : shape {
	char bytes[Size];
	__attribute__((noinline)) std::shared_ptr<shape> copy(unsigned depth) override
	{
		if (depth)
			return sized<Size>().copy(depth - 1);
		return std::make_shared<sized<Size>>(*this);
	}
};
}

SHOWN void compared_first(unsigned depth, void (*then)(void *), void *argument)
{
	std::vector<std::shared_ptr<shape>> all;

	for (unsigned i = 0; i < 12; i++) {
		all.push_back(sized<40>().copy(depth));
		all.push_back(sized<900>().copy(depth / 2));
	}
	then(argument);
}
#else
static __attribute__((noinline)) char *longer(char *text, unsigned times)
{
	for (unsigned i = 1; i <= times; i++) {
		text = (char *)realloc(text, 200 * i);
		memset(text, 'x', 200 * i - 1);
		text[200 * i - 1] = 0;
	}
	return text;
}

SHOWN void compared_second(unsigned count)
{
	char *text = longer(strdup("short"), count), *copy = strndup(text, 150);
	void *aligned;

	if (!posix_memalign(&aligned, 256, 4000))
		free(aligned);
	free(copy);
	free(text);
}
#endif
