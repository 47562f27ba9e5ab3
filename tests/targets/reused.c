/*
 * With jump_alloc: addresses that a handler of a signal has had inside of an allocator's function, and that this gives or has
 * freed; jumps out of malloc, behind which blocks are had and given again; and a handler that maps and remaps.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/targets/jump_alloc.h"
#include "tests/targets/target.h"

#define SIZE own(3 * 4096)

static void (*volatile handle)(void);
static sigjmp_buf back;
static void *had, *moved, *handed;
static unsigned long allocations, frees, mapped, unmapped, reused;

static void handler(int number)
{
	(void)number;
	handle();
}

/* A block that is freed by moving away. */
static void move(void)
{
	had = use(malloc(LENT_SIZE));
	moved = use(realloc(had, own(96)));
	allocations += 2;
	frees += 1;
}

/* The block that is just freed, and freed once more. */
static void borrow(void)
{
	had = use(malloc(AGAIN_SIZE));
	free(had);
	allocations++;
	frees++;
}

/* A block that another thread frees. */
static void *free_it(void *argument)
{
	void *p;

	(void)argument;
	while (!(p = __atomic_load_n(&handed, __ATOMIC_ACQUIRE)))
		sched_yield();
	free(p);
	__atomic_store_n(&handed, NULL, __ATOMIC_RELEASE);
	return NULL;
}

static void hand_over(void)
{
	had = use(malloc(LENT_SIZE));
	__atomic_store_n(&handed, had, __ATOMIC_RELEASE);
	while (__atomic_load_n(&handed, __ATOMIC_ACQUIRE))
		sched_yield();
	allocations++;
	frees++;
}

static void leave(void)
{
	siglongjmp(back, 1);
}

static void map(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p = mremap(p, SIZE, own(5 * 4096), MREMAP_MAYMOVE);
	if (p == MAP_FAILED || munmap(p, own(5 * 4096)))
		_exit(3);
	mapped += 2;
	unmapped += 2;
}

__attribute__((noinline)) static void below(int depth, void (*work)(void))
{
	if (depth)
		below(depth - 1, work);
	else
		work();
	__asm__ volatile("");
}

static void be_left(void)
{
	(void)use(malloc(SIGNAL_SIZE));
}

/* The block that is given at `size`: the handler's, or that of the calls behind the jump. */
static void take(size_t size)
{
	void *p = use(malloc(size));

	reused += p == had;
	free(p);
	allocations++;
	frees++;
	if (moved) {
		free(moved);
		frees++;
	}
	moved = NULL;
}

/* What is done behind a jump out of malloc, so deep that the hook that was left seems to be under way, and then higher up. */
__attribute__((noinline)) static void behind_a_jump(void (*work)(void))
{
	handle = leave;
	if (!sigsetjmp(back, 1))
		below(10, be_left);
	below(50, work);
	take(AGAIN_SIZE);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	pthread_t thread;
	void *block;

	if (pthread_create(&thread, NULL, free_it, NULL))
		return 4;
	sigaction(SIGUSR1, &action, NULL);
	handle = move;
	take(SIGNAL_AGAIN_SIZE);

	behind_a_jump(move);
	behind_a_jump(hand_over);
	pthread_join(thread, NULL);

	handle = borrow;
	block = use(malloc(LENT_SIZE));
	free(use(realloc(block, LATE_SIZE)));
	reused += had == block;
	allocations += 2;
	frees += 2;

	handle = map;
	free(use(malloc(SIGNAL_SIZE)));
	allocations++;
	frees++;

	say("allocations", allocations);
	say("frees", frees);
	say("mapped", mapped);
	say("unmapped", unmapped);
	say("reused", reused);
	return 0;
}
