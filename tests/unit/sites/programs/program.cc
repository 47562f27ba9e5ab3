// Calls what is to be found in it.
#include <cstdio>
#include <cstdlib>
#include <string>

// As if the compiler had made a copy for calls with a certain argument.
static void copy(void *block) __asm__("mi_free.constprop.0");
__attribute__((noinline)) static void copy(void *block)
{
	std::free(block);
}

int main(int argc, char **)
{
	void *block = std::malloc(static_cast<std::size_t>(argc) * 100);

	block = std::realloc(block, static_cast<std::size_t>(argc) * 300);
	copy(block);
	block = std::calloc(static_cast<std::size_t>(argc), 9);
	std::free(block);
	std::puts(std::string(100, 'x').c_str());
	return 0;
}
