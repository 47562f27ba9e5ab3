/*
 * stalls THREADS MS [real-time] [calm] [late]: each thread allocates and frees for so long, as fast as it can, and notes when it
 * slept: the time that went by, less what it ran and what it waited for a processor. It calls nothing that sleeps, so what is
 * left was done to it.
 *
 * Says of all threads together, in microseconds: "slept" in all, "worst" in any 100 ms, "longest" at a time; and how many "events" it made.
 * real-time: the threads are SCHED_FIFO; ends with 77 if they may not be. calm: in a second more they allocate now and then only. late: for
 * two seconds before they do all the same, and nothing of it counts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define SLEEPS_MAX  20000
#define LOT	    8	  /* pairs between two looks at the clock */
#define LOOK_NS	    50000 /* a shorter gap is no sleep */
#define WINDOW_NS   100000000
#define CALM_PAUSES 500
#define LATE_NS	    2000000000

struct sleep {
	uint64_t end;
	uint64_t ns;
};

struct work {
	pthread_t thread;
	uint64_t slept; /* so far */
	uint64_t events;
	unsigned count;
	struct sleep sleep[SLEEPS_MAX];
};

static struct work works[THREADS_MAX];
static struct sleep all[THREADS_MAX * SLEEPS_MAX];
static uint64_t run_ns;
static int real_time, calm, late, failed;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* So far this thread was ready to run, and did not. */
static uint64_t waited_to_run(int fd)
{
	char text[128] = "";
	unsigned long long run = 0, wait = 0;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &run, &wait) != 2)
		failed = 1;
	return wait;
}

static void look(struct work *w, int fd, uint64_t start, uint64_t cpu_start, uint64_t queue_start,
		 uint64_t now)
{
	uint64_t spent =
		read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_start + waited_to_run(fd) - queue_start;
	uint64_t slept = now - start > spent ? now - start - spent : 0;

	if (slept <= w->slept + LOOK_NS || w->count == SLEEPS_MAX)
		return;
	w->sleep[w->count++] = (struct sleep){.end = now, .ns = slept - w->slept};
	w->slept = slept;
}

static void make(struct work *w)
{
	for (int i = 0; i < LOT; i++) {
		char *volatile block = malloc(64 + (size_t)i);

		free(block);
	}
	w->events += (uint64_t)2 * LOT;
}

static void settle(struct work *w)
{
	uint64_t start = read_clock(CLOCK_MONOTONIC);

	while (read_clock(CLOCK_MONOTONIC) - start < LATE_NS)
		make(w);
	w->events = 0;
}

static void calm_down(void)
{
	for (int i = 0; i < CALM_PAUSES; i++) {
		char *volatile block = malloc(100000);

		free(block);
		usleep(2000);
	}
}

static void *work(void *argument)
{
	struct work *w = argument;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct sched_param param = {.sched_priority = 1};
	uint64_t now, before, start, cpu, queue;

	if (real_time && pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		failed = 77;
	if (late)
		settle(w);
	queue = waited_to_run(fd);
	cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
	before = start = read_clock(CLOCK_MONOTONIC);
	do {
		make(w);
		now = read_clock(CLOCK_MONOTONIC);
		if (now - before > LOOK_NS)
			look(w, fd, start, cpu, queue, now);
		before = now;
	} while (now - start < run_ns);
	close(fd);
	if (calm)
		calm_down();
	return NULL;
}

static int by_end(const void *a, const void *b)
{
	const struct sleep *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

/* What of a sleep lies in the window that ends at `end`. */
static uint64_t inside(const struct sleep *sleep, uint64_t end)
{
	uint64_t left = sleep->end + WINDOW_NS - end;

	return sleep->ns < left ? sleep->ns : left;
}

static uint64_t worst_of(const struct sleep *sleep, unsigned count)
{
	uint64_t worst = 0;

	for (unsigned i = 0, first = 0; i < count; i++) {
		uint64_t sum = 0;

		while (sleep[first].end + WINDOW_NS <= sleep[i].end)
			first++;
		for (unsigned k = first; k <= i; k++)
			sum += inside(&sleep[k], sleep[i].end);
		worst = sum > worst ? sum : worst;
	}
	return worst;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1, count = 0;
	uint64_t slept = 0, events = 0, longest = 0;

	if (argc < 3 || !threads || threads > THREADS_MAX)
		return 2;
	run_ns = strtoull(argv[2], NULL, 10) * 1000000;
	for (int i = 3; i < argc; i++) {
		real_time |= !strcmp(argv[i], "real-time");
		calm |= !strcmp(argv[i], "calm");
		late |= !strcmp(argv[i], "late");
	}
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&works[i].thread, NULL, work, &works[i]))
			return 3;
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(works[i].thread, NULL);
		memcpy(all + count, works[i].sleep, works[i].count * sizeof(*all));
		count += works[i].count;
		slept += works[i].slept;
		events += works[i].events;
	}
	if (failed)
		return failed;
	for (unsigned i = 0; i < count; i++)
		longest = all[i].ns > longest ? all[i].ns : longest;
	qsort(all, count, sizeof(*all), by_end);
	printf("slept %llu\nworst %llu\nlongest %llu\nevents %llu\n",
	       (unsigned long long)slept / 1000, (unsigned long long)worst_of(all, count) / 1000,
	       (unsigned long long)longest / 1000, (unsigned long long)events);
	return 0;
}
