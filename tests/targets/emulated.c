/*
 * Blocks of known sizes, made on known ways, for another processor: main > outer > inner in the first thread, work > pass in two more
 * that hand each block to each other under a lock; on 32 bits most of them lie above 2 GiB. Prints what must be found, and between
 * which two moments of the wall clock one block of a size of its own was made.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/targets/target.h"

#define BLOCKS	   500
#define KEPT	   100 /* of them stay */
#define HANDED	   600
#define CHUNK	   (64ul << 20)
#define CHUNKS_MAX 48
#define HALF	   0x80000000ul
#define LARGE	   (256u << 10) /* a mapping of its own */
#define MOMENT	   (320u << 10)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	void *block;
	int turn;
} hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};

static void *kept[BLOCKS];
static unsigned long bytes, high;

static void count(const void *block, size_t size)
{
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&high, (uintptr_t)block >= HALF, __ATOMIC_RELAXED);
}

/* What lies below 2 GiB is taken, so that the next mappings are above. */
static void reach_high(void)
{
	for (int i = 0; sizeof(void *) == 4 && i < CHUNKS_MAX; i++) {
		void *chunk = mmap(NULL, CHUNK, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (chunk == MAP_FAILED || (uintptr_t)chunk >= HALF)
			break;
	}
}

__attribute__((noinline)) static void inner(unsigned i)
{
	size_t size = own(LARGE * (i % 16 == 0) + i * 16);

	kept[i] = use(malloc(size));
	count(kept[i], size);
}

__attribute__((noinline)) static void outer(unsigned i)
{
	inner(i);
	use(kept[i]);
}

/* Its turn: what the other one has made goes, and a new one is made. */
__attribute__((noinline)) static void pass(int me, unsigned i)
{
	size_t size = own(64 + i % 5 * 32);

	pthread_mutex_lock(&hand.lock);
	while (hand.turn != me)
		pthread_cond_wait(&hand.turned, &hand.lock);
	free(hand.block);
	hand.block = use(malloc(size));
	count(hand.block, size);
	hand.turn = !me;
	pthread_cond_signal(&hand.turned);
	pthread_mutex_unlock(&hand.lock);
}

__attribute__((noinline)) static void *work(void *me)
{
	for (unsigned i = 0; i < HANDED; i++)
		pass(me != NULL, i);
	return use(NULL);
}

static void say_time(const char *name)
{
	struct timespec t;
	char line[64];
	int length;

	clock_gettime(CLOCK_REALTIME, &t);
	length = snprintf(line, sizeof(line), "%s %lld%09ld\n", name, (long long)t.tv_sec,
			  t.tv_nsec);
	if (write(1, line, (size_t)length) != length)
		_exit(99);
}

int main(void)
{
	pthread_t other[2];
	void *moment;

	reach_high();
	for (unsigned i = 0; i < BLOCKS; i++)
		outer(i);
	for (unsigned i = KEPT; i < BLOCKS; i++)
		free(kept[i]);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&other[i], NULL, work, i ? &hand : NULL))
			return 4;
	for (int i = 0; i < 2; i++)
		pthread_join(other[i], NULL);
	say_time("before");
	moment = use(malloc(own(MOMENT)));
	count(moment, own(MOMENT));
	say_time("after");
	say("bits", 8 * sizeof(void *));
	say("page", (unsigned long)sysconf(_SC_PAGESIZE));
	say("blocks", BLOCKS + 2 * HANDED + 1);
	say("freed", BLOCKS - KEPT + 2 * HANDED - 1);
	say("bytes", bytes);
	say("high", high);
	return 7;
}
