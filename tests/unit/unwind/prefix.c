/* The verified prefix against the full walk on random call chains: every capture of several hundred
 * thousand is compared. Recursion of mixed shapes, longjmp out of anything, coroutine stacks that
 * are unmapped and mapped again at other sizes, signals on the same and on an alternate stack,
 * threads that share the caches while generations change. And stacks of which nobody tells the
 * bounds: walked from afar; whose end is gone when it is read. */
#include "tests/unit/unwind/host.h"

#include <signal.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Walloca"
#pragma GCC diagnostic ignored "-Wclobbered"

#define CAPTURES  150000 /* a thread */
#define THREADS	  3
#define ALTERNATE (256 << 10)

struct actor {
	struct unwind_thread *incremental, *full;
	struct consumer seen, whole;
	uint64_t random;
	uint64_t captures;
	uint32_t limit;
	jmp_buf *out; /* where to jump to; NULL: nowhere */
	ucontext_t here, coroutine;
	unsigned coroutine_depth;
	bool in_coroutine, in_handler;
};

static __thread struct actor *me;
static volatile unsigned sink;

static unsigned roll(void)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return (unsigned)(me->random >> 11);
}

static NOINLINE void hook(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta, other;
	struct actor *a = me;

	unwind_regs_here(&regs);
	if (roll() % 4096 == 0)
		a->limit = roll() % 2 ? UNWIND_MAX_DEPTH : 1 + roll() % 30;
	if (roll() % 4096 == 0) {
		unwind_forget(a->incremental);
		a->seen.depth = 0;
	}
	unwind_capture(a->incremental, &regs, a->limit, &delta);
	consume(&a->seen, &delta);
	unwind_capture_full(a->full, &regs, a->limit, &other);
	consume(&a->whole, &other);
	assert_int_equal(delta.flags, other.flags);
	assert_same_stack(&a->seen, &a->whole, "incremental and full walk differ");
	a->captures++;
	__asm__ volatile("");
}

static void play(unsigned depth);

static NOINLINE void small(unsigned depth)
{
	play(depth);
	sink++;
}

static NOINLINE void with_array(unsigned depth)
{
	volatile uint64_t array[37];

	array[depth % 37] = depth;
	play(depth);
	sink += (unsigned)array[depth % 37];
}

static NOINLINE void with_alloca(unsigned depth)
{
	volatile char *bytes = __builtin_alloca(16 + roll() % 400);

	bytes[0] = 1;
	play(depth);
	hook();
	sink += (unsigned)bytes[0];
}

static NOINLINE void with_registers(unsigned depth)
{
	unsigned a = sink, b = a * 3, c = b ^ depth, d = c + a, e = d * b;

	play(depth);
	sink = a + b + c + d + e;
	hook();
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void
with_frame_pointer(unsigned depth)
{
	play(depth);
	hook();
	sink++;
}

static NOINLINE void realigned(unsigned depth)
{
	volatile char block[64] __attribute__((aligned(64)));

	block[0] = 1;
	play(depth);
	sink += (unsigned)block[0];
}

static NOINLINE void jumps(unsigned depth)
{
	jmp_buf here, *before = me->out;

	if (!setjmp(here)) {
		me->out = &here;
		play(depth);
	}
	me->out = before;
	hook();
}

static NOINLINE void signals(unsigned depth)
{
	if (!me->in_handler)
		raise(roll() % 2 ? SIGUSR1 : SIGUSR2);
	play(depth);
}

static void handler(int number)
{
	jmp_buf *before = me->out;

	(void)number;
	me->in_handler = true;
	me->out = NULL;
	play(roll() % 4);
	hook();
	me->out = before;
	me->in_handler = false;
}

static void coroutine_body(void)
{
	play(me->coroutine_depth);
	hook();
	swapcontext(&me->coroutine, &me->here); /* some are never finished */
	play(me->coroutine_depth);
}

static NOINLINE void coroutines(unsigned depth)
{
	size_t size = (size_t)(32 + roll() % 8 * 8) << 10;
	jmp_buf *before = me->out;
	void *stack;

	if (me->in_coroutine || me->in_handler) {
		play(depth);
		return;
	}
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stack, MAP_FAILED);
	me->in_coroutine = true;
	me->out = NULL;
	me->coroutine_depth = roll() % 8;
	getcontext(&me->coroutine);
	me->coroutine.uc_stack.ss_sp = stack;
	me->coroutine.uc_stack.ss_size = size;
	me->coroutine.uc_link = &me->here;
	makecontext(&me->coroutine, coroutine_body, 0);
	swapcontext(&me->here, &me->coroutine);
	hook();
	if (roll() % 2)
		swapcontext(&me->here, &me->coroutine);
	me->in_coroutine = false;
	me->out = before;
	munmap(stack, size);
	hook();
}

static void play(unsigned depth)
{
	static void (*const shapes[])(unsigned) = {
		small, with_array, with_alloca, with_registers, with_frame_pointer, realigned,
		jumps, small,	   with_array,	with_registers, with_frame_pointer,
	};
	unsigned choice = roll();

	if (choice % 3 == 0)
		hook();
	if (!depth)
		return;
	if (me->out && choice % 101 == 0)
		longjmp(*me->out, 1);
	if (choice % 97 == 0)
		signals(depth - 1);
	else if (choice % 89 == 0)
		coroutines(depth - 1);
	else
		shapes[choice / 128 % (sizeof(shapes) / sizeof(shapes[0]))](depth - 1);
	if (choice % 5 == 0)
		hook();
}

static void *act(void *number)
{
	stack_t alternate = {.ss_sp = malloc(ALTERNATE), .ss_size = ALTERNATE}, old;
	struct actor *a = calloc(1, sizeof(*a));
	struct unwind_counters counters;

	me = a;
	a->incremental = new_unwind_thread();
	a->full = new_unwind_thread();
	a->random = 88172645463325252ull + 7777777 * (uintptr_t)number;
	a->limit = UNWIND_MAX_DEPTH;
	if (number) /* of one thread no stack is known at all */
		host_know_stack();
	sigaltstack(&alternate, &old);
	while (a->captures < CAPTURES)
		play(roll() % 16 ? roll() % 40 : roll() % 300);
	unwind_counters(a->incremental, &counters);
	assert_int_equal(counters.captures, a->captures);
	sigaltstack(&old, NULL);
	free(alternate.ss_sp);
	munmap(a->incremental, UNWIND_THREAD_SIZE);
	munmap(a->full, UNWIND_THREAD_SIZE);
	printf("thread %u: %llu captures equal, %.2f frames walked each, %llu rows missed, %llu "
	       "decoded, %llu truncated\n",
	       (unsigned)(uintptr_t)number, (unsigned long long)a->captures,
	       (double)counters.frames_walked / (double)counters.captures,
	       (unsigned long long)counters.rows_missed, (unsigned long long)counters.rows_decoded,
	       (unsigned long long)counters.truncated);
	/* Beyond interrupted code that is read a walk ends with the page, on a stack that nobody
	 * knows. */
	assert_true(counters.truncated * 100 <= counters.captures * (ARCH_SCAN && !number ? 5 : 1));
	free(a);
	return NULL;
}

static void test_random(void **state)
{
	struct sigaction action = {.sa_handler = handler};
	pthread_t threads[THREADS];

	(void)state;
	assert_int_equal(unwind_init(&test_host), 0);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, act, (void *)i), 0);
	for (int i = 0; i < 20; i++) {
		struct timespec pause = {.tv_nsec = 10000000};

		nanosleep(&pause, NULL);
		if (i % 4 == 0)
			unwind_suspend_cache();
		unwind_modules_changed();
		if (i % 4 == 0)
			unwind_resume_cache();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#define FAR (2u << 20) /* farther than a stack is taken to have grown at once */

/* The first walk of a thread that has seen nothing yet must give the same. */
static NOINLINE void capture_far(void)
{
	struct unwind_thread *fresh = new_unwind_thread();
	struct unwind_regs regs;
	struct unwind_delta delta, other;

	unwind_regs_here(&regs);
	unwind_capture_full(me->full, &regs, UNWIND_MAX_DEPTH, &delta);
	consume(&me->whole, &delta);
	unwind_capture_full(fresh, &regs, UNWIND_MAX_DEPTH, &other);
	consume(&me->seen, &other);
	assert_int_equal(other.flags, 0);
	assert_int_equal(delta.flags, 0);
	assert_same_stack(&me->seen, &me->whole, "a thread's first walk and a later one differ");
	munmap(fresh, UNWIND_THREAD_SIZE);
}

static NOINLINE void far_below(void)
{
	volatile char *bytes = __builtin_alloca(FAR);

	bytes[0] = 1;
	capture_far();
	sink += (unsigned)bytes[0];
}

/* Known from its own capture; far_below's walk comes here from what it has learned of the stack
 * below, page by page. */
static NOINLINE void some_pages(unsigned count)
{
	volatile char pages[8192];

	pages[0] = 1;
	if (count) {
		some_pages(count - 1);
	} else {
		capture_far();
		far_below();
	}
	sink += (unsigned)pages[0];
}

struct once {
	void (*work)(unsigned frames);
	unsigned frames;
};

static void *act_once(void *what)
{
	const struct once *once = what;

	me = calloc(1, sizeof(*me));
	me->full = new_unwind_thread();
	once->work(once->frames);
	munmap(me->full, UNWIND_THREAD_SIZE);
	free(me);
	return NULL;
}

/* On a stack of which nothing is known. */
static void on_new_thread(const struct unwind_host *host, struct once once)
{
	pthread_t thread;

	assert_int_equal(unwind_init(host), 0);
	assert_int_equal(pthread_create(&thread, NULL, act_once, &once), 0);
	pthread_join(thread, NULL);
	assert_int_equal(unwind_init(&test_host), 0);
}

static void test_far(void **state)
{
	(void)state;
	on_new_thread(&test_host, (struct once){some_pages, 3});
}

static uint64_t asked; /* pages */

static uint64_t count_readable(uint64_t from, uint64_t to)
{
	asked += (to - from) / 4096 + 1;
	return test_host.readable(from, to);
}

/* Behind a large frame the walk goes on, and it looks at some pages only: with a call of the
 * kernel's for each of a large frame's an event would take longer than it is to the next signal,
 * whose handler allocates again. */
static NOINLINE void capture_counted(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta;

	unwind_regs_here(&regs);
	for (unsigned i = 0; i < 8; i++) {
		asked = 0;
		if (i % 2) {
			unwind_abandon(me->full);
			unwind_capture(me->full, &regs, UNWIND_MAX_DEPTH, &delta);
		} else {
			unwind_capture_full(me->full, &regs, UNWIND_MAX_DEPTH, &delta);
		}
		assert_int_equal(delta.flags, 0);
		assert_in_range(asked, 0, 64);
	}
}

static NOINLINE void far_counted(unsigned frames)
{
	volatile char *bytes = __builtin_alloca(FAR);

	bytes[0] = 1;
	if (frames)
		far_counted(frames - 1);
	else
		capture_counted();
	sink += (unsigned)bytes[0];
}

static void test_asked(void **state)
{
	struct unwind_host host = test_host;

	(void)state;
	host.readable = count_readable;
	host.stack_bounds = NULL;
	on_new_thread(&host, (struct once){far_counted, 1});
}

#if defined(__arm__)
#define STATE_PC(machine) (machine).arm_pc
#define STATE_SP(machine) (machine).arm_sp
#elif defined(__mips__)
#define STATE_PC(machine) (machine).pc
#define STATE_SP(machine) (machine).gregs[29]
#endif

#ifdef STATE_PC /* where interrupted code is read: elsewhere it has tables */
/* A stack ends right above interrupted code whose frame is read as a large one; what lay there is
 * gone when the walk reads. */
static uintptr_t behind_large; /* in a function with a large frame */
static uint8_t *last_page;     /* of a stack */

static uint64_t say_readable(uint64_t from, uint64_t to)
{
	return from < to ? to : from;
}

static NOINLINE void note_caller(void)
{
	behind_large = (uintptr_t)__builtin_return_address(0);
}

static NOINLINE void large(void)
{
	volatile char bytes[2000];

	bytes[0] = 1;
	note_caller();
	sink += (unsigned)bytes[0];
}

static void at_stack_end(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context, saved = *interrupted;
	struct unwind_regs regs;
	struct unwind_delta delta;

	(void)number;
	(void)info;
	STATE_PC(interrupted->uc_mcontext) = behind_large & -(uintptr_t)2;
	STATE_SP(interrupted->uc_mcontext) = (uintptr_t)last_page + 4096 - 16;
	unwind_regs_here(&regs);
	unwind_capture_full(me->full, &regs, UNWIND_MAX_DEPTH, &delta);
	assert_true(delta.flags & UNWIND_TRUNCATED);
	assert_int_equal(delta.depth, 2); /* it has come there, and no farther */
	*interrupted = saved;
}

static void interrupt(unsigned unused)
{
	struct sigaction action = {.sa_sigaction = at_stack_end, .sa_flags = SA_SIGINFO};

	(void)unused;
	large();
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void test_gone(void **state)
{
	struct unwind_host host = test_host;
	uint8_t *memory;

	(void)state;
	memory = mmap(NULL, 2 * FAR, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	last_page = memory + FAR - 4096;
	assert_int_equal(mprotect(memory, FAR, PROT_READ | PROT_WRITE), 0);
	host.readable = say_readable;
	host.stack_bounds = NULL;
	on_new_thread(&host, (struct once){interrupt, 0});
	munmap(memory, 2 * FAR);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_asked),
#ifdef STATE_PC
		cmocka_unit_test(test_gone),
#endif
	};

	if (*skip_reason) {
		puts(skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
