/*
 * A server that answers 3000 requests in some four seconds, with the faults that servers have; docs/page.md looks for them in the page:
 *
 *	refuse_request	forgets its session each 12th time: a leak that grows
 *	read_settings	keeps 1000 blocks for ever: a leak that does not
 *	remember	a cache without a limit; it is freed at the end, so no list of leaks has it
 *	copy_field	a block for each field of each request, freed at once
 *	build_index	40,000 small blocks; all but each 32nd are freed at two thirds: memory with holes
 *	sort_answers	4 MiB, four times, for a moment: the peak
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define REQUESTS 3000
#define ENTRIES	 40000

struct answer {
	struct answer *next;
	char text[];
};

struct session {
	unsigned request;
	char user[1500];
};

static void *settings[1000], *index_entries[ENTRIES];
static struct answer *cache;
static volatile size_t sink;

static NOINLINE void *filled(void *block, size_t bytes)
{
	memset(block, 1, bytes);
	sink += (size_t)((char *)block)[bytes - 1];
	return block;
}

static NOINLINE void read_settings(void)
{
	for (size_t i = 0; i < 1000; i++)
		settings[i] = filled(malloc(120), 120);
}

static NOINLINE void build_index(void)
{
	for (size_t i = 0; i < ENTRIES; i++)
		index_entries[i] = filled(malloc(120 + i % 60), 120 + i % 60);
}

static NOINLINE void thin_index(void)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (i % 32) {
			free(index_entries[i]);
			index_entries[i] = NULL;
		}
}

static NOINLINE void copy_field(unsigned i)
{
	char *field = filled(malloc(20 + i % 50), 20);

	free(field);
	sink++;
}

static NOINLINE void parse_request(unsigned i)
{
	char *request = filled(malloc(900), 900);

	for (unsigned k = 0; k < 12; k++)
		copy_field(i + k);
	free(request);
	sink++;
}

static NOINLINE void remember(unsigned i)
{
	size_t bytes = 3000 + i % 1500;
	struct answer *answer = filled(malloc(bytes), bytes);

	answer->next = cache;
	cache = answer;
	sink++;
}

static NOINLINE void sort_answers(void)
{
	void *scratch = filled(malloc(4u << 20), 4u << 20);

	free(scratch);
	sink++;
}

static NOINLINE struct session *open_session(unsigned i)
{
	struct session *session = filled(malloc(sizeof(*session)), sizeof(*session));

	session->request = i;
	return session;
}

static NOINLINE void refuse_request(struct session *session)
{
	sink += session->request; /* and returns: the session is forgotten */
}

static NOINLINE void serve_request(unsigned i)
{
	struct session *session = open_session(i);

	parse_request(i);
	if (i % 12 == 0) {
		refuse_request(session);
		return;
	}
	if (i % 2 == 0)
		remember(i);
	if (i % 700 == 699)
		sort_answers();
	free(session);
	sink++;
}

static NOINLINE void forget_answers(void)
{
	while (cache) {
		struct answer *next = cache->next;

		free(cache);
		cache = next;
	}
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	read_settings();
	for (unsigned i = 0; i < REQUESTS; i++) {
		serve_request(i);
		if (i == REQUESTS / 3)
			build_index();
		if (i == REQUESTS * 2 / 3)
			thin_index();
		nanosleep(&pause, NULL);
	}
	forget_answers();
	for (size_t i = 0; i < ENTRIES; i++)
		free(index_entries[i]);
	printf("%zu\n", sink);
	return 0;
}
