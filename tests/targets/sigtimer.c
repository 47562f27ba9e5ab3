/* sigtimer MILLISECONDS: with jump_alloc, allocates as fast as it can while a timer's handler does
 * the same. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "tests/targets/target.h"

static volatile unsigned long handled;

static void handler(int number)
{
	(void)number;
	free(use(malloc(own(32))));
	handled++;
}

static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	unsigned long until = now_ms() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 200), made = 1;
	struct sigaction action = {.sa_handler = handler};
	struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};

	free(use(malloc(own(16)))); /* the thread is known from here on */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (now_ms() < until && made < 400000) {
		for (int i = 0; i < 50; i++)
			free(use(malloc(own(64))));
		made += 50;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	say("allocations", made + handled);
	say("frees", made + handled);
	say("handled", handled);
	return 0;
}
