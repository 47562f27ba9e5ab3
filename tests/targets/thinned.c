/*
 * Blocks that are recorded exactly, and whose frees come when the agent does not keep up: it is made to stand still for a moment, twice.
 * Says what is true: bytes and blocks of its own that were allocated, that are in use when it marks that (7), and
 * that are left at the end.
 *
 *	thinned BLOCKS ROUNDS SEED
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/heapcast.h"

#define BLOCKS_MAX 200000
#define CHURNED	   512 /* blocks that live for a while */
#define BURST	   6000 /* frees, each amid four events of churn, while the agent stands still */

static uint64_t state;
static uint64_t allocated, allocated_bytes, live, live_bytes;

struct block {
	void *p;
	size_t size;
};

static struct block churned[CHURNED], blocks[BLOCKS_MAX];

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* 8 to 103 bytes, one in 2,000 up to 32 KiB. */
static size_t draw_size(void)
{
	return draw() % 2000 ? 8 + draw() % 96 : 1 + draw() % 32768;
}

static __attribute__((noinline)) void make(struct block *block)
{
	block->size = draw_size();
	block->p = malloc(block->size);
	allocated++;
	allocated_bytes += block->size;
	live++;
	live_bytes += block->size;
}

static __attribute__((noinline)) void end(struct block *block)
{
	live--;
	live_bytes -= block->size;
	free(block->p);
	block->p = NULL;
}

static void churn(unsigned times)
{
	while (times--) {
		struct block *block = &churned[draw() % CHURNED];

		if (block->p)
			end(block);
		make(block);
	}
}

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* A mark finds no room while the agent has none; what is in use is the same each time. */
static void mark(void)
{
	struct block block;

	for (unsigned i = 0; i < 10; i++) {
		rest();
		make(&block);
		end(&block);
		if (heapcast_mark)
			heapcast_mark(7);
	}
}

int main(int argc, char **argv)
{
	static char output[256];
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, freed = 0;
	unsigned rounds = argc > 2 && atoi(argv[2]) > 1 ? (unsigned)atoi(argv[2]) : 2;
	pid_t agent = getppid();

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	state = 88172645463325252u + 7919 * (argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	count = count < BLOCKS_MAX ? count : BLOCKS_MAX;
	for (unsigned i = 0; i < count; i++)
		make(&blocks[i]);
	for (unsigned i = count; i-- > 1;) { /* in no order */
		unsigned other = (unsigned)(draw() % (i + 1));
		struct block swap = blocks[i];

		blocks[i] = blocks[other];
		blocks[other] = swap;
	}
	rest();
	for (unsigned round = 0; round < rounds; round++) {
		unsigned until = (unsigned)((uint64_t)count * 9 / 10 * (round + 1) / rounds);

		if (round % (rounds / 2) == 0)
			kill(agent, SIGSTOP);
		for (unsigned i = 0; freed < until; freed++) {
			churn(2);
			end(&blocks[freed]);
			if (++i == BURST)
				kill(agent, SIGCONT);
		}
		kill(agent, SIGCONT);
		if (round == rounds / 2) {
			mark();
			printf("in_use %llu %llu\n", (unsigned long long)live_bytes, (unsigned long long)live);
		}
	}
	for (unsigned i = 0; i < CHURNED; i++)
		if (churned[i].p)
			end(&churned[i]);
	printf("allocated %llu %llu\nleaked %llu %llu\n", (unsigned long long)allocated_bytes,
	       (unsigned long long)allocated, (unsigned long long)live_bytes, (unsigned long long)live);
	return 0;
}
