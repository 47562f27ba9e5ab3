/* A program with a leak that is known (forget_session), a cache that grows (cache_page) and temporary blocks (parse_line). Another build of it
 * has an index (load_index) of four times the size. For stories about the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef INDEX_BYTES
#define INDEX_BYTES (1u << 20)
#endif
#define NOINLINE __attribute__((noinline))

static void *cache[4096];
static volatile size_t sink;

static NOINLINE void *load_index(size_t bytes)
{
	char *index = malloc(bytes);

	memset(index, 1, bytes);
	sink += (size_t)index[bytes - 1];
	return index;
}

static NOINLINE void cache_page(unsigned i)
{
	cache[i % 4096] = malloc(2048);
	sink += cache[i % 4096] != NULL;
}

static NOINLINE void forget_session(void)
{
	char *session = malloc(1000);

	session[0] = 1;
	sink += (size_t)session[0];
}

static NOINLINE void parse_line(unsigned i)
{
	char *line = malloc(100 + i % 400);

	line[0] = (char)i;
	sink += (size_t)line[0];
	free(line);
}

static NOINLINE void serve_request(unsigned i)
{
	for (unsigned k = 0; k < 5; k++)
		parse_line(i + k);
	if (i % 4 == 0)
		cache_page(i / 4);
	if (i % 10 == 0)
		forget_session();
	sink++; /* so that no call is the last thing, which would be a jump, and no frame */
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	void *index = load_index(INDEX_BYTES);

	for (unsigned i = 0; i < 2000; i++) {
		serve_request(i);
		if (i % 10 == 0)
			nanosleep(&pause, NULL);
	}
	for (unsigned i = 0; i < 4096; i++)
		free(cache[i]);
	free(index);
	printf("%zu\n", sink);
	return 0;
}
