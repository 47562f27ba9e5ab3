/* crowd THREADS: all of them at the same time, each with 50 blocks. */
#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 1000
#define STACK_SIZE  (64u << 10)

static pthread_barrier_t barrier;

static void *work(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 50; i++) {
		char *volatile block = malloc(100);

		free(block);
	}
	pthread_barrier_wait(&barrier); /* nobody ends before all have begun */
	return argument;
}

int main(int argc, char **argv)
{
	static pthread_t thread[THREADS_MAX];
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_attr_t attributes;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (unsigned long i = 0; i < count; i++)
		if (pthread_create(&thread[i], &attributes, work, NULL))
			exit(3);
	for (unsigned long i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
