/*
 * A program to attach to that keeps what it has: it waits until a file is there, allocates COUNT blocks of 100 bytes, gives
 * them all back, and ends with status 7.
 *
 *	hoard FILE COUNT
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	void **block = mmap(NULL, count * sizeof(*block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;

	if (block == MAP_FAILED)
		return 1;
	while (argc > 1 && stat(argv[1], &st))
		usleep(10000);
	for (size_t i = 0; i < count; i++)
		block[i] = malloc(100);
	for (size_t i = 0; i < count; i++)
		free(block[i]);
	_exit(7);
}
