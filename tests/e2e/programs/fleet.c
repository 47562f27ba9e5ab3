/*
 * fleet BLOCKS FOLDER [MORE]: holds BLOCKS blocks of 100 to 106 bytes and a tenth as many of 5,000, empty ones among them, and goes on
 * allocating and freeing beside that. Says "ready BLOCKS BYTES" of what it holds. When there is a file FOLDER/grow it makes GROWN blocks of
 * GROWN_SIZE more (MORE of sizes up to 255, in no order, if that is given) and says "grown BLOCKS BYTES"; when there is one FOLDER/end it ends, without freeing anything. Compiled twice, with another
 * PADDING: then functions and lines lie elsewhere, and the build id is another one.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GROWN	   3000
#define GROWN_SIZE 333
#define CHURNED	   16

#ifndef PADDING
#define PADDING 1
#endif

static unsigned long blocks, bytes;
static volatile int padding[16];

__attribute__((noinline)) static void pad(void)
{
	for (int i = 0; i < PADDING; i++)
		padding[i % 16] += i * PADDING;
}

__attribute__((noinline)) static void *hold(size_t size)
{
	void *volatile p;

	if (PADDING > 1)
		pad();
	p = malloc(size); /* no tail call: it has a frame of its own */
	blocks += p != NULL;
	bytes += size;
	return p;
}

__attribute__((noinline)) static void planted(unsigned long more)
{
	for (unsigned long i = 0; i < (more ? more : GROWN); i++) {
		size_t size = more ? (uint32_t)i * 2654435761u >> 24 : GROWN_SIZE;
		void *volatile p = malloc(size);

		blocks += p != NULL;
		bytes += size;
	}
}

/* What it has at a moment is not what anybody counts on. */
__attribute__((noinline)) static void *churn(void *unused)
{
	void *some[CHURNED] = {0};

	for (unsigned n = 0;; n++) {
		free(some[n % CHURNED]);
		some[n % CHURNED] = malloc(10 + n % 50);
		usleep(5000);
	}
	return unused;
}

static void wait_for(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	while (access(path, F_OK))
		usleep(20000);
}

static void say(const char *what)
{
	printf("%s %lu %lu\n", what, blocks, bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t thread;

	if (!count)
		return 2;
	pthread_create(&thread, NULL, churn, NULL);
	for (unsigned long i = 0; i < count; i++) {
		hold(i % 50 == 7 ? 0 : 100 + i % 7);
		if (i % 10 == 0)
			hold(5000);
	}
	say("ready");
	wait_for(argv[2], "grow");
	planted(argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
	say("grown");
	wait_for(argv[2], "end");
	_exit(0);
}
