/*
 * Calls of the allocator that end otherwise than by returning, for programs that are attached to: it waits until a file is
 * there, and then leaves one call in each round, out of some depth; what it does next comes from deeper in the stack, as if the call
 * that was left were still under way. Ends with status 7.
 *
 *	left FILE throw|jump|end ROUNDS
 *
 * throw: operator new, which throws. jump: malloc, by siglongjmp from a handler of a signal (with jump_alloc), every second
 * time of a size that can't be had. end: malloc, of a thread that is ended there; what its clearing up does is of the round,
 * too. In each round 10 blocks of 64 bytes are allocated and given back, and one of 48 at last.
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "tests/targets/jump_alloc.h"
}

#define NOINLINE __attribute__((noinline))

static void *volatile sink;
static volatile std::size_t huge = SIZE_MAX / 4;
static sigjmp_buf back;

static void *keep(void *p)
{
	sink = p;
	return p;
}

static void by_jump(int)
{
	siglongjmp(back, 1);
}

static void by_end(int)
{
	pthread_exit(nullptr);
}

NOINLINE static void deeper(unsigned frames, void (*what)())
{
	if (frames)
		deeper(frames - 1, what);
	else
		what();
	__asm__ volatile("");
}

static void ask_huge()
{
	keep(operator new(huge));
}

static volatile std::size_t signal_size = SIGNAL_SIZE;

static void ask_signal()
{
	keep(malloc(signal_size));
}

static void blocks()
{
	for (int i = 0; i < 10; i++)
		free(keep(malloc(64)));
}

/* By another of the functions. */
static void last_block()
{
	free(keep(realloc(nullptr, 48)));
}

static void after(void *)
{
	deeper(60, blocks);
	last_block();
}

static pthread_key_t key;

static void *thread(void *argument)
{
	pthread_setspecific(key, argument); /* so that `after` is called */
	deeper(*static_cast<const unsigned *>(argument) % 30, ask_signal);
	return nullptr;
}

static void leave(const char *how, unsigned round)
{
	if (!strcmp(how, "throw")) {
		try {
			deeper(round % 30, ask_huge);
		} catch (const std::bad_alloc &) {
		}
	} else if (!strcmp(how, "jump")) {
		signal_size = round % 2 ? HUGE_SIZE : SIGNAL_SIZE;
		if (!sigsetjmp(back, 1))
			deeper(round % 30, ask_signal);
	} else {
		pthread_t t;

		if (pthread_create(&t, nullptr, thread, &round) || pthread_join(t, nullptr))
			abort();
		return;
	}
	after(nullptr);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 3 ? static_cast<unsigned>(atoi(argv[3])) : 10;
	const char *how = argc > 2 ? argv[2] : "throw";
	struct stat st;

	pthread_key_create(&key, after);
	signal(SIGUSR1, strcmp(how, "end") ? by_jump : by_end);
	while (argc > 1 && stat(argv[1], &st))
		usleep(10000);
	for (unsigned round = 0; round < rounds; round++)
		leave(how, round);
	_exit(7);
}
