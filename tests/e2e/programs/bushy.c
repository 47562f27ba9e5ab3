/*
 * bushy COUNT THREADS LEVELS: each thread allocates and frees COUNT blocks, from stacks of which hardly two are alike: at each of
 * so many levels one of two functions goes on. The size of a block is 1 + the turns of its outer TOLD levels, the outermost in
 * the highest bit, 1 for right.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define TOLD	    12
#define THREADS_MAX 256

static unsigned long count;
static unsigned levels;

struct path {
	uint64_t seed;
	unsigned level;
	size_t told;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void turn(struct path path);

__attribute__((noinline)) static void left(struct path path)
{
	turn(path);
	__asm__ volatile("");
}

__attribute__((noinline)) static void right(struct path path)
{
	turn(path);
	__asm__ volatile("nop"); /* not folded into one with `left` */
}

static void turn(struct path path)
{
	uint64_t to_right = mix(path.seed + path.level) >> 63;
	void *volatile block;

	if (path.level == levels) {
		block = malloc(1 + path.told);
		free(block);
		return;
	}
	if (path.level++ < TOLD)
		path.told = path.told << 1 | to_right;
	if (to_right)
		right(path);
	else
		left(path);
	__asm__ volatile("");
}

static void *work(void *argument)
{
	for (unsigned long i = 0; i < count; i++)
		turn((struct path){.seed = mix((uint64_t)(uintptr_t)argument << 32 | i)});
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	uintptr_t threads = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc <= 3 || threads > THREADS_MAX)
		return 2;
	count = strtoul(argv[1], NULL, 10);
	levels = (unsigned)strtoul(argv[3], NULL, 10);
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (uintptr_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
