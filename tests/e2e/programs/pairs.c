/* pairs COUNT: so many malloc and free in turn, of changing sizes; says so and ends with 5. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++) {
		char *volatile block = malloc(16 + i * 7919 % 5000);

		free(block);
	}
	printf("pairs: %lu\n", count);
	return 5;
}
