/* waiting THREADS: so many threads, each of which makes 20,000 allocations and frees, at stack
 * depths up to 24. Then all of them wait, "ready" is printed, and the end of standard input ends
 * the program. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define THREADS_MAX 64
#define ROUNDS	    10000
#define DEPTH_MAX   24
#define STACK_SIZE  (128u << 10)

static pthread_barrier_t done, ended;

static __attribute__((noinline)) void descend(unsigned depth)
{
	if (!depth)
		free(use(malloc(own(48))));
	else
		descend(depth - 1);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

static void *work(void *argument)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		descend(i * 7 % DEPTH_MAX);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&ended);
	return argument;
}

int main(int argc, char **argv)
{
	static pthread_t thread[THREADS_MAX];
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_attr_t attributes;
	char c;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&done, NULL, (unsigned)count + 1);
	pthread_barrier_init(&ended, NULL, (unsigned)count + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (unsigned long i = 0; i < count; i++)
		if (pthread_create(&thread[i], &attributes, work, NULL))
			return 3;
	pthread_barrier_wait(&done);
	if (write(1, "ready\n", 6) != 6)
		return 3;
	while (read(0, &c, 1) > 0)
		;
	pthread_barrier_wait(&ended);
	for (unsigned long i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
