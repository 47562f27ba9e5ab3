/*
 * leaker FILE LEAKS BYTES PAIRS [SECONDS]: each quarter of a second it makes a lot of LEAKS blocks of BYTES, writes to them and keeps them,
 * and PAIRS that it frees at once, until it is killed, or ended by SIGTERM, or SECONDS have passed. It counts its calls that
 * have returned in a file that is shared memory. Around the moment between two lots it is silent for a while, so that clocks of two
 * programs agree on what belongs to which.
 *
 *	leaker FILE      prints a file: "leaked BLOCKS BYTES", and "lot BEGIN_WALL_NS ALLOCATIONS FREES" for each
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOTS_MAX  4096
#define LOT_NS	  250000000
#define SILENT_NS 30000000
#define STEPS	  8
#define KEPT_MAX  (1u << 20)

struct lot {
	uint64_t begin_wall_ns, allocations, frees;
};

struct truth {
	uint64_t blocks, bytes, lots;
	struct lot lot[LOTS_MAX];
};

static struct truth *truth;
static void *volatile kept[KEPT_MAX];
static volatile sig_atomic_t ended;

static struct truth *open_truth(const char *path, int make)
{
	int fd = open(path, make ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0644);
	void *memory;

	if (fd < 0 || (make && ftruncate(fd, sizeof(*truth)) < 0)) {
		perror(path);
		exit(1);
	}
	memory = mmap(NULL, sizeof(*truth), make ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		      fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	close(fd);
	return memory;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				     .tv_nsec = (long)(ns % 1000000000)},
		  NULL);
}

__attribute__((noinline)) static void leak_one(struct lot *lot, size_t size)
{
	char *volatile block = malloc(size);

	lot->allocations++;
	truth->bytes += size;
	if (truth->blocks < KEPT_MAX)
		kept[truth->blocks] = block;
	truth->blocks++;
	memset(block, 1, size); /* here the OOM killer comes */
}

__attribute__((noinline)) static void churn_one(struct lot *lot, unsigned i)
{
	char *volatile block = malloc(16 + i % 300);

	lot->allocations++;
	free(block);
	lot->frees++;
}

static void work(struct lot *lot, unsigned leaks, size_t size, unsigned pairs)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC), end;

	for (unsigned step = 0; step < STEPS; step++) {
		for (unsigned i = leaks * step / STEPS; i < leaks * (step + 1) / STEPS; i++)
			leak_one(lot, size);
		for (unsigned i = pairs * step / STEPS; i < pairs * (step + 1) / STEPS; i++)
			churn_one(lot, i);
		sleep_ns((LOT_NS - 2 * SILENT_NS) / STEPS);
	}
	end = now_ns(CLOCK_MONOTONIC);
	sleep_ns(end + SILENT_NS < begin + LOT_NS ? begin + LOT_NS - end : SILENT_NS);
}

static void terminate(int number)
{
	(void)number;
	ended = 1;
}

static int print(const char *path)
{
	truth = open_truth(path, 0);
	printf("leaked %llu %llu\n", (unsigned long long)truth->blocks,
	       (unsigned long long)truth->bytes);
	for (uint64_t i = 0; i < truth->lots; i++)
		printf("lot %llu %llu %llu\n", (unsigned long long)truth->lot[i].begin_wall_ns,
		       (unsigned long long)truth->lot[i].allocations,
		       (unsigned long long)truth->lot[i].frees);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned leaks = argc > 4 ? (unsigned)atoi(argv[2]) : 0,
		 pairs = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	size_t size = argc > 4 ? (size_t)atol(argv[3]) : 0;
	uint64_t lots = argc > 5 ? (uint64_t)(atof(argv[5]) * 1e9 / LOT_NS) : LOTS_MAX;

	if (argc == 2)
		return print(argv[1]);
	if (argc < 5)
		return 2;
	signal(SIGTERM, terminate);
	truth = open_truth(argv[1], 1);
	for (uint64_t i = 0; i < lots && i < LOTS_MAX && !ended; i++) {
		truth->lot[i].begin_wall_ns = now_ns(CLOCK_REALTIME);
		truth->lots = i + 1;
		work(&truth->lot[i], leaks, size, pairs);
	}
	return 0;
}
