/*
 * stress SECONDS [THREADS [COROUTINES [SIGNAL_US]]]: everything that changes a stack under an unwinder, at
 * random, in eight threads: exceptions through several frames, longjmp (also out of a signal's
 * handler, off the alternate stack), coroutines on stacks that are unmapped and mapped again in
 * other sizes, alloca, frames that are realigned, timer signals whose handlers allocate on the
 * normal and on the alternate stack, libraries that are loaded and unloaded. Prints how often each
 * was done. With 0 for COROUTINES there are none: libunwind follows their stacks off the end.
 * SIGNAL_US is how often a thread's timer comes; where an event takes as long little else is done.
 *
 * libc's allocator is not made for handlers that interrupt it, and neither are the loader and the
 * exceptions: `busy` says that this thread is in one of them, and then a handler does nothing.
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/targets/target.h"

#define NOINLINE __attribute__((noinline))

static constexpr unsigned threads_max = 64, depth_max = 40;
static constexpr std::size_t page = 4096, stack_least = 64 << 10, alternate_size = 256 << 10;

struct thrown {
	unsigned depth;
};

enum ending { returns, throws, jumps };

struct counts {
	unsigned long blocks, exceptions, longjmps, coroutines, signals, plugins;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	struct counts counts;
};

static struct worker workers[threads_max];
static unsigned thread_count = 8;
static long signal_ns = 700000;
static bool coroutines = true;
static std::time_t deadline;
static char folder[512];

static thread_local struct worker *me;
static thread_local volatile int busy;
static thread_local jmp_buf back;
static thread_local sigjmp_buf out_of_handler;
static thread_local volatile bool jump_out;
static thread_local ucontext_t outside, inside;
static thread_local unsigned coroutine_depth;

static unsigned random_below(unsigned limit)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return (unsigned)(me->random >> 20) % limit;
}

static std::time_t now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void quietly(bool begin)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	busy = busy + (begin ? 1 : -1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

NOINLINE static void allocate()
{
	quietly(true);
	void *p = use(std::malloc(own(random_below(400) + 16)));
	if (random_below(8) == 0)
		p = use(std::realloc(p, own(random_below(4000) + 16)));
	std::free(p);
	quietly(false);
	me->counts.blocks++;
}

NOINLINE static void descend(unsigned depth, enum ending ending);

/* A frame whose size is known at run time only. */
NOINLINE static void with_alloca(unsigned depth, enum ending ending)
{
	auto room = static_cast<volatile char *>(__builtin_alloca(16 + random_below(16) * 24));

	room[0] = 1;
	descend(depth, ending);
	allocate();
	room[0] = room[0] + 1;
}

/* A frame that is realigned. */
NOINLINE static void with_alignment(unsigned depth, enum ending ending)
{
	alignas(64) volatile char room[128];

	use(const_cast<char *>(room));
	room[depth % 128] = 1;
	descend(depth, ending);
	allocate();
}

/* Catches and throws again what comes from below. */
NOINLINE static void with_handler(unsigned depth, enum ending ending)
{
	try {
		descend(depth, ending);
	} catch (const struct thrown &t) {
		allocate();
		throw;
	}
	allocate();
}

NOINLINE static void end_of(enum ending ending)
{
	allocate();
	if (ending == throws) {
		quietly(true);
		throw thrown{1};
	}
	if (ending == jumps)
		longjmp(back, 1);
}

NOINLINE static void descend(unsigned depth, enum ending ending)
{
	if (random_below(3) == 0)
		allocate();
	if (depth == 0) {
		end_of(ending);
		return;
	}
	switch (random_below(4)) {
	case 0:
		with_alloca(depth - 1, ending);
		break;
	case 1:
		with_alignment(depth - 1, ending);
		break;
	case 2:
		with_handler(depth - 1, ending);
		break;
	default:
		descend(depth - 1, ending);
		allocate();
	}
}

NOINLINE static void throw_and_catch()
{
	try {
		descend(random_below(depth_max), throws);
	} catch (const struct thrown &t) {
		allocate();
	} /* which frees the exception */
	quietly(false);
	me->counts.exceptions++;
}

NOINLINE static void jump_back()
{
	if (!setjmp(back))
		descend(random_below(depth_max), jumps);
	allocate();
	me->counts.longjmps++;
}

/* On a stack of its own. */

static void coroutine()
{
	for (int i = 0; i < 3; i++) {
		if (random_below(2))
			descend(coroutine_depth, returns);
		else
			throw_and_catch();
		swapcontext(&inside, &outside);
	}
	descend(coroutine_depth, returns);
}

NOINLINE static void run_coroutine()
{
	std::size_t size = stack_least + random_below(32) * page;
	void *stack =
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned turns = random_below(4) + 1;

	if (stack == MAP_FAILED)
		_exit(3);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	coroutine_depth = random_below(12);
	makecontext(&inside, coroutine, 0);
	for (unsigned i = 0; i < turns; i++) {
		swapcontext(&outside, &inside);
		allocate();
	}
	munmap(stack, size); /* with frames on it that will never return, if there were few turns */
	allocate();
	me->counts.coroutines++;
}

/* Signals: by timers at any instruction, and raised. */

static void on_signal(int)
{
	if (!me || busy)
		return;
	quietly(true); /* the next one leaves us alone */
	me->counts.signals++;
	quietly(false);
	allocate();
	descend(random_below(5), returns);
	if (jump_out) {
		jump_out = false;
		siglongjmp(out_of_handler, 1);
	}
}

NOINLINE static void raise_and_return()
{
	raise(random_below(2) ? SIGUSR1 : SIGUSR2);
	allocate();
}

NOINLINE static void raise_and_jump()
{
	sigset_t both, before;

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &both, &before); /* no timer's signal takes the jump earlier */
	if (!sigsetjmp(out_of_handler, 1)) {
		jump_out = true;
		raise(random_below(2) ? SIGUSR1 : SIGUSR2);
		pthread_sigmask(SIG_SETMASK, &before, nullptr);
	}
	jump_out = false;
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	allocate();
}

static void start_timer(bool alternate)
{
	struct sigevent event = {};
	struct itimerspec every = {{0, signal_ns}, {0, signal_ns}};
	timer_t timer;

	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = alternate ? SIGUSR2 : SIGUSR1;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, nullptr))
		_exit(3);
}

NOINLINE static void use_plugin()
{
	char path[600];
	void *handle, *symbol;

	quietly(true);
	snprintf(path, sizeof(path), "%s/plugin%u.so", folder, random_below(2) + 1);
	handle = dlopen(path, RTLD_NOW);
	symbol = handle ? dlsym(handle, "plugin_work") : nullptr;
	if (!symbol)
		_exit(4);
	for (unsigned i = random_below(4) + 1; i > 0; i--)
		std::free(reinterpret_cast<void *(*)(std::size_t)>(symbol)(64));
	dlclose(handle);
	quietly(false);
	allocate();
	me->counts.plugins++;
}

static void one_thing()
{
	switch (random_below(64)) {
	case 0:
		use_plugin();
		break;
	case 1 ... 8:
		raise_and_return();
		break;
	case 9 ... 14:
		raise_and_jump();
		break;
	case 15 ... 24:
		if (coroutines)
			run_coroutine();
		break;
	case 25 ... 34:
		throw_and_catch();
		break;
	case 35 ... 44:
		jump_back();
		break;
	default:
		descend(random_below(depth_max), returns);
	}
}

static void *work(void *argument)
{
	stack_t alternate = {};

	alternate.ss_size = alternate_size;
	alternate.ss_sp = mmap(nullptr, alternate_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (alternate.ss_sp == MAP_FAILED || sigaltstack(&alternate, nullptr))
		_exit(3);
	me = static_cast<struct worker *>(argument);
	start_timer((me - workers) % 2);
	while (now() < deadline)
		for (int i = 0; i < 100; i++)
			one_thing();
	busy = 1;
	return nullptr;
}

static void find_folder(const char *program)
{
	const char *slash = strrchr(program, '/');

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - program) : 1,
		 slash ? program : ".");
}

int main(int argc, char **argv)
{
	struct sigaction action = {};
	struct counts sum = {};

	deadline = now() + (argc > 1 ? std::atol(argv[1]) : 1);
	if (argc > 2)
		thread_count = (unsigned)std::atoi(argv[2]);
	if (argc > 3)
		coroutines = std::atoi(argv[3]);
	if (argc > 4)
		signal_ns = 1000 * std::atol(argv[4]);
	if (thread_count < 1 || thread_count > threads_max)
		return 2;
	find_folder(argv[0]);
	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, nullptr);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, nullptr);
	for (unsigned i = 0; i < thread_count; i++) {
		workers[i].random = 88172645463325252u + i * 7919u;
		if (pthread_create(&workers[i].thread, nullptr, work, &workers[i]))
			return 3;
	}
	for (unsigned i = 0; i < thread_count; i++) {
		const struct counts &c = workers[i].counts;

		pthread_join(workers[i].thread, nullptr);
		sum.blocks += c.blocks;
		sum.exceptions += c.exceptions;
		sum.longjmps += c.longjmps;
		sum.coroutines += c.coroutines;
		sum.signals += c.signals;
		sum.plugins += c.plugins;
	}
	say("blocks", sum.blocks);
	say("exceptions", sum.exceptions);
	say("longjmps", sum.longjmps);
	say("coroutines", sum.coroutines);
	say("signals", sum.signals);
	say("plugins", sum.plugins);
	return 0;
}
