// Calls what is to be found in it.
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **)
{
	void *block = std::malloc(static_cast<std::size_t>(argc) * 100);

	block = std::realloc(block, static_cast<std::size_t>(argc) * 300);
	std::free(block);
	block = std::calloc(static_cast<std::size_t>(argc), 9);
	std::free(block);
	std::puts(std::string(100, 'x').c_str());
	return 0;
}
