/*
 * SIGUSR1 as the recorder's switch. Blocks with the tag OWN are made while it should record, those
 * with CHILD while it should not.
 *
 *	toggles plain | own | read | storm
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define SIGNALS 500

static volatile sig_atomic_t handled;
static volatile int over;
static volatile unsigned long rounds;

static void count(int number)
{
	(void)number;
	handled++;
}

static void allocate(unsigned blocks, size_t size)
{
	while (blocks--)
		(void)use(malloc(size));
}

/* On, off, on again; errno is the program's. */
static void plain(void)
{
	allocate(10, own(100));
	errno = 4711;
	raise(SIGUSR1);
	say("errno", (unsigned long)errno);
	allocate(20, child_size(100));
	raise(SIGUSR1);
	allocate(5, own(100));
}

/* The program's own handler comes, whatever was there. */
static void own_handler(void)
{
	struct sigaction action = {.sa_handler = count};

	sigaction(SIGUSR1, &action, NULL);
	allocate(10, own(100));
	raise(SIGUSR1);
	allocate(5, own(100));
	say("handled", (unsigned long)handled);
}

static void *disturb(void *thread)
{
	const int *pipe_end = thread;

	usleep(50000);
	kill(getpid(), SIGUSR1);
	usleep(50000);
	return write(*pipe_end, "x", 1) == 1 ? NULL : thread;
}

/* A system call that the signal interrupts goes on. */
static void restarted_read(void)
{
	pthread_t thread;
	sigset_t set;
	int ends[2];
	char byte;

	if (pipe(ends))
		_exit(90);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set,
			NULL); /* for the other one: the signal is for this thread */
	pthread_create(&thread, NULL, disturb, &ends[1]);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	say("read", (unsigned long)read(ends[0], &byte, 1));
	pthread_join(thread, NULL);
}

static void *storm(void *thread)
{
	for (int i = 0; i < SIGNALS; i++) {
		unsigned long before = rounds;

		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		while (rounds < before + 5) /* it may wait for the agent, in the handler too */
			usleep(100);
	}
	over = 1;
	return NULL;
}

/* In the middle of hooks, an even number of times. */
static void in_the_middle(void)
{
	pthread_t self = pthread_self(), thread;

	pthread_create(&thread, NULL, storm, &self);
	while (!over)
		free(use(malloc(own(64)))), rounds++;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "plain"))
		plain();
	else if (!strcmp(how, "own"))
		own_handler();
	else if (!strcmp(how, "read"))
		restarted_read();
	else
		in_the_middle();
	return 0;
}
