/*
 * What the clients of the REST API count on, and the integration tests of the profiler whose API it is record: clients basic | cull |
 * markers | toggled | crossed | forked | jumped | traced | loaded LIBRARY | left | phases | maps
 *
 *	basic     a block of each function, in an order of sizes; what realloc makes of one, twice, and the free of that
 *	cull      blocks that live no time, longer than the threshold of the test (300 ms), and for ever; chains of reallocs of each kind
 *	markers   blocks under marks
 *	toggled   blocks of two threads while it is recorded and while it is not (it begins switched off), and what is freed later
 *	crossed   blocks of a thread that main frees, soon and late
 *	forked    a child that is not followed between blocks of its parent
 *	jumped    blocks of nested functions, and of those to which longjmp went back
 *	traced    a block after the program has looked at its own stack
 *	loaded    a block of a library (plugin.c) that is loaded and stays
 *	left      a block, and _exit
 *	phases    100 blocks of 40,000 bytes for a time, then 100 of 30,000, which are freed, while 100 of 10,000 are not
 *	maps      mappings that are kept, unmapped whole, at the start, at the end and in the middle, and mapped over
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

#define PAGE	4096ul
#define LONG_US 500000 /* longer than the threshold */

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static void basic(void)
{
	void *leaked = use(malloc(10001));
	void *freed = use(malloc(10002)), *grown, *aligned;

	use(leaked);
	free(freed);
	mallopt(M_ARENA_TEST, 3);
	grown = use(malloc(10003));
	grown = use(realloc(grown, 10004));
	use(calloc(5, 2001));
	if (!posix_memalign(&aligned, 65536, 10006))
		use(aligned);
	grown = use(realloc(grown, 20004));
	free(grown);
}

static __attribute__((noinline)) void lives(size_t size, useconds_t us)
{
	void *p = use(malloc(size));

	if (!us)
		return;
	usleep(us);
	free(p);
}

static __attribute__((noinline)) void grows(size_t size, size_t to, useconds_t us)
{
	void *p = use(malloc(size));

	usleep(us / 2 + 1);
	p = use(realloc(p, to));
	usleep(us / 2 + 1);
	free(p);
}

static void cull(void)
{
	static const useconds_t lifetimes_us[] = {1, LONG_US, 0};

	for (volatile size_t i = 0; i < 3; i++) /* one call site */
		lives(1234 + i, lifetimes_us[i]);
	grows(1500, 1600, 2);	    /* short as a whole */
	grows(1700, 1800, LONG_US); /* each block short, both together long */
	use(realloc(use(malloc(2000)), 3000));
	usleep(LONG_US);
}

static void markers(void)
{
	use(malloc(101));
	if (heapcast_mark)
		heapcast_mark(7);
	use(malloc(107));
	if (heapcast_mark)
		heapcast_mark(0);
	use(malloc(102));
}

/* ---- threads ---- */

static void *allocates(void *size)
{
	return use(malloc((size_t)size));
}

/* In a thread of its own, which has ended. */
static void *in_thread(size_t size)
{
	pthread_t thread;
	void *block;

	pthread_create(&thread, NULL, allocates, (void *)size);
	pthread_join(thread, &block);
	return block;
}

static void toggle(void (*call)(void))
{
	if (getenv("BY_SIGNAL"))
		raise(SIGUSR1);
	else if (call)
		call();
}

static void toggled(void)
{
	void *block;

	use(malloc(10001));
	in_thread(20001);
	toggle(memory_profiler_start);
	block = use(malloc(10002));
	in_thread(20002);
	use(malloc(10003));
	toggle(memory_profiler_stop);
	use(malloc(10004));
	in_thread(20003);
	free(block);
}

static void crossed(void)
{
	void *late;

	free(in_thread(1111));
	late = in_thread(2222);
	usleep(LONG_US);
	free(late);
}

static void forked(void)
{
	pid_t child;

	use(malloc(10001));
	in_thread(20001);
	child = fork();
	if (!child) {
		use(malloc(30001));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	use(malloc(10002));
	in_thread(20002);
}

/* ---- the stack ---- */

static jmp_buf back[2];

static __attribute__((noinline)) void jump_0(void)
{
	use(malloc(123456));
	longjmp(back[0], 1);
}

static __attribute__((noinline)) void jump_1(void)
{
	jump_0();
	use(NULL);
}

static __attribute__((noinline)) void jump_2(void)
{
	if (!setjmp(back[0]))
		jump_1();
	use(malloc(123457));
	longjmp(back[1], 1);
}

static __attribute__((noinline)) void jump_3(void)
{
	jump_2();
	use(NULL);
}

static void jumped(void)
{
	if (!setjmp(back[1]))
		jump_3();
	use(malloc(123458));
}

static void traced(void)
{
	void *frames[16];

	use(malloc(123456));
	backtrace(frames, 16);
	use(malloc(123457));
}

static const char *library;

static void loaded(void)
{
	void *plugin = library ? dlopen(library, RTLD_NOW) : NULL;
	void *(*work)(size_t size) =
		plugin ? (void *(*)(size_t))dlsym(plugin, "plugin_work") : NULL;

	if (work)
		use(work(123123));
}

static void left(void)
{
	use(malloc(12001));
	_exit(0);
}

/* ---- over time ---- */

#define BLOCKS 100

static __attribute__((noinline)) void hold(void **list, size_t size)
{
	for (size_t i = 0; i < BLOCKS; i++)
		list[i] = use(malloc(size));
}

static __attribute__((noinline)) void loads(void **list)
{
	hold(list, 40000);
	use(list);
}

static __attribute__((noinline)) void works(void **list)
{
	hold(list, 30000);
	use(list);
}

static __attribute__((noinline)) void keeps(void **list)
{
	for (size_t i = 0; i < BLOCKS; i++)
		list[i] = use(malloc(10000));
}

static void drop(void **list)
{
	for (size_t i = 0; i < BLOCKS; i++)
		free(list[i]);
}

static void phases(void)
{
	static void *first[BLOCKS], *second[BLOCKS], *last[BLOCKS];

	loads(first);
	usleep(LONG_US / 5);
	drop(first);
	works(second);
	keeps(last);
	usleep(LONG_US / 5);
	drop(second);
	usleep(LONG_US / 5);
}

static __attribute__((noinline)) char *map(size_t pages, int protection, int flags, void *at)
{
	return mmap(at, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Maps are read between the steps, wherever they are gathered. */
static void maps(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	char *touched, *gone, *start, *end, *middle, *over;

	map(123, rw, 0, NULL);
	touched = map(5, rw, 0, NULL);
	memset(touched, 1, PAGE);
	memset(touched + 4 * PAGE, 1, PAGE);
	gone = map(6, rw, 0, NULL);
	start = map(7, rw, 0, NULL);
	end = map(8, rw, 0, NULL);
	middle = map(9, rw, 0, NULL);
	over = map(10, rw, 0, NULL);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, touched, 5 * PAGE, "touched");
	usleep(LONG_US);
	munmap(gone, 6 * PAGE);
	munmap(start, 6 * PAGE);
	munmap(end + PAGE, 7 * PAGE);
	munmap(middle + 3 * PAGE, PAGE);
	map(1, PROT_READ, MAP_FIXED, over + 9 * PAGE);
	mprotect(touched, PAGE, PROT_READ);
	usleep(2 * LONG_US);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} acts[] = {{"basic", basic},	  {"cull", cull},	{"markers", markers},
		    {"toggled", toggled}, {"crossed", crossed}, {"forked", forked},
		    {"jumped", jumped},	  {"traced", traced},	{"loaded", loaded},
		    {"left", left},	  {"phases", phases},	{"maps", maps}};

	library = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[1], acts[i].name))
			acts[i].act();
	return 0;
}
