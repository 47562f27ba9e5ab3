/*
 * All of its memory is locked, as a program with deadlines does it: mlockall(MCL_FUTURE), then COUNT threads that allocate once and wait
 * for each other. Says how much of it is resident then, and how long the first malloc of a thread took (the median).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 200

static pthread_barrier_t all, told;
static long took_us[MOST];

static void *work(void *argument)
{
	struct timespec from, to;
	void *volatile block;

	clock_gettime(CLOCK_MONOTONIC, &from);
	block = malloc(100);
	clock_gettime(CLOCK_MONOTONIC, &to);
	free(block);
	*(long *)argument = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&told);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssAnon:", 8))
			kib += strtol(line + 8, NULL, 10);
	if (status)
		fclose(status);
	return kib;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t thread[MOST];
	pthread_attr_t attr;

	if (count > MOST || mlockall(MCL_FUTURE))
		return 77;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&all, NULL, count + 1);
	pthread_barrier_init(&told, NULL, count + 1);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread[i], &attr, work, &took_us[i]))
			return 1;
	pthread_barrier_wait(&all);
	printf("resident_kib %ld\n", resident_kib());
	pthread_barrier_wait(&told);
	for (unsigned i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	qsort(took_us, count, sizeof(*took_us), compare);
	printf("first_us %ld\n", took_us[count / 2]);
	return 0;
}
