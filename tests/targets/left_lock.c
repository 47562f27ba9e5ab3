/*
 * left_lock ONE OTHER PLUGIN: loads two libraries in turn, each before the other one is unloaded,
 * until that takes long because nobody reads what is told of them; then a signal's handler jumps out
 * of it. When it is read, which its output says ("awake 1"), it loads the plugin, somewhere else on
 * the stack, and that allocates.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "tests/targets/target.h"

#define TICK_MS 50
#define STUCK	4 /* ticks in which it has slept, and no library was loaded */
#define ROUNDS	5000

static sigjmp_buf back;
static volatile unsigned long rounds;

/* A loader that is slow does not sleep, and must not be left: its data would be half done. */
static long times_slept(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void leave(int number)
{
	static unsigned long before;
	static unsigned ticks;
	static long slept;
	long now = times_slept();

	(void)number;
	ticks = rounds == before && now != slept ? ticks + 1 : 0;
	before = rounds;
	slept = now;
	if (rounds && ticks == STUCK)
		siglongjmp(back, 1);
}

static void *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);

	if (!handle)
		_exit(3);
	return handle;
}

/* Well below where the rest is done: what was left here is seen to be left. */
__attribute__((noinline)) static void take_turns(int depth, const char *const path[])
{
	void *handle;

	if (depth) {
		take_turns(depth - 1, path);
		__asm__ volatile("");
		return;
	}
	handle = load(path[0]);
	while (rounds < ROUNDS) {
		void *next = load(path[++rounds % 2]);

		dlclose(handle);
		handle = next;
	}
}

static bool is_read(void)
{
	char said[64] = "";

	return pread(STDOUT_FILENO, said, sizeof(said) - 1, 0) > 0 && strstr(said, "awake");
}

int main(int argc, char **argv)
{
	const struct itimerval often = {{.tv_usec = TICK_MS * 1000}, {.tv_usec = TICK_MS * 1000}};
	const struct itimerval never = {0};
	struct sigaction action = {.sa_handler = leave, .sa_flags = SA_RESTART};
	void *(*work)(size_t);

	if (argc < 4)
		return 2;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (!sigsetjmp(back, 1))
		take_turns(50, (const char *const *)argv + 1);
	setitimer(ITIMER_REAL, &never, NULL);
	say("rounds", rounds);
	while (!is_read())
		usleep(20000);
	work = (void *(*)(size_t))dlsym(load(argv[3]), "plugin_work");
	for (int i = 0; i < 10; i++)
		free(work(100));
	say("allocations", 10);
	return 0;
}
