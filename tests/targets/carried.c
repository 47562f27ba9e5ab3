/*
 * carried FILE ROUNDS: coroutines that are carried on by whichever thread comes first, so that no stack is any one thread's. When FILE
 * is there each of 4 makes and frees, ROUNDS times, BLOCKS blocks of SIZE bytes, one after the other, and is left to another thread
 * after each round. Nothing else allocates from then on.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

#define THREADS	   3
#define COROUTINES 4
#define STACK	   65536
#define BLOCKS	   8
#define SIZE	   40

static ucontext_t carrier[THREADS], coroutine[COROUTINES];
static int carried_by[COROUTINES];
static unsigned long rounds;
static bool over[COROUTINES];
static int waiting[COROUTINES], waiting_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(int number)
{
	for (unsigned long i = 0; i < rounds; i++) {
		for (int block = 0; block < BLOCKS; block++)
			free(use(malloc(SIZE)));
		swapcontext(&coroutine[number], &carrier[carried_by[number]]);
	}
	__atomic_store_n(&over[number], true, __ATOMIC_RELEASE);
	swapcontext(&coroutine[number], &carrier[carried_by[number]]);
}

/* The first of those that wait; -1: none, for the moment. */
static int take(void)
{
	int number = -1;

	pthread_mutex_lock(&lock);
	if (waiting_count) {
		number = waiting[0];
		waiting_count--;
		for (int i = 0; i < waiting_count; i++)
			waiting[i] = waiting[i + 1];
	}
	pthread_mutex_unlock(&lock);
	return number;
}

static void give(int number)
{
	pthread_mutex_lock(&lock);
	waiting[waiting_count++] = number;
	pthread_mutex_unlock(&lock);
}

static bool all_over(void)
{
	bool all = true;

	for (int i = 0; i < COROUTINES; i++)
		all &= __atomic_load_n(&over[i], __ATOMIC_ACQUIRE);
	return all;
}

static void *carry(void *argument)
{
	int me = (int)(intptr_t)argument;

	while (!all_over()) {
		int number = take();

		if (number < 0)
			continue;
		carried_by[number] = me;
		swapcontext(&carrier[me], &coroutine[number]);
		if (!over[number])
			give(number);
	}
	pause();
	return NULL;
}

static bool prepare(int number)
{
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || getcontext(&coroutine[number]))
		return false;
	coroutine[number].uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
	makecontext(&coroutine[number], (void (*)(void))work, 1, number);
	return true;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	rounds = strtoul(argv[2], NULL, 10);
	for (int i = 0; i < COROUTINES; i++)
		if (!prepare(i))
			return 3;
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, carry, (void *)i))
			return 3;
	while (access(argv[1], F_OK))
		usleep(1000);
	for (int i = 0; i < COROUTINES; i++)
		give(i);
	while (!all_over())
		usleep(1000);
	_exit(0);
}
