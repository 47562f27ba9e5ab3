/* Blocks whose number, size and function are known: a hundred of 40 bytes by malloc, ten of 8,000 by calloc, three of 4,096 by
 * aligned_alloc, and one that realloc makes larger six times, from 16 bytes to 1,024. */
#include <stdlib.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static void *volatile kept[113];
static unsigned count;

static APART void make_names(void)
{
	for (int i = 0; i < 100; i++)
		kept[count++] = malloc(40);
}

static APART void make_tables(void)
{
	for (int i = 0; i < 10; i++)
		kept[count++] = calloc(1000, 8);
}

static APART void make_pages(void)
{
	for (int i = 0; i < 3; i++)
		kept[count++] = aligned_alloc(4096, 4096);
}

static APART void grow_list(void)
{
	void *volatile list = malloc(16);

	for (size_t size = 32; size <= 1024; size *= 2)
		list = realloc(list, size);
	free(list);
}

int main(void)
{
	make_names();
	make_tables();
	make_pages();
	grow_list();
	for (unsigned i = 0; i < 50; i++)
		free(kept[i]);
	return 0;
}
