/*
 * A hook that is interrupted at any two of its instructions: munmap, one instruction after the other (by the trap flag of
 * x86). At the first of the two the handler makes one mapping, which stays; at the second it makes and ends so many, all at one
 * address, that not all of their events can wait for the hook to end: the last that can is a birth. The first is each of some
 * hundred, the second soon behind it or anywhere. And at a third, each of the last, one more. Or, stepped jump: at some of those behind
 * the second, the handler leaves the hook, when a part of what waited is on record.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/targets/target.h"

#define SIZE  own(20000)
#define FIRST 250ul /* instructions: the guard is set, and the call not made yet */
#define MANY  50    /* mappings: 100 events */
#define LAST  24ul  /* instructions: what waited is on record, and the hook ends */
#define JUMPS 8ul
#define PAGE  4096u
#define ALL   (unsigned long)-1

static volatile unsigned long step, first, second, third;
static volatile bool stepping;
static uint64_t random_state = 1;
static void *kept;
static unsigned long handlers; /* mappings of handlers */
static sigjmp_buf back;
static bool jumps;

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	return p;
}

#ifdef __x86_64__
#define TOGGLE()  __asm__ volatile("int3" ::: "memory")
#define TRAP_FLAG 256

static void set_trap(ucontext_t *context, bool on)
{
	greg_t *flags = &context->uc_mcontext.gregs[REG_EFL];

	*flags = on ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}
#else
#define TOGGLE() (void)0

static void set_trap(ucontext_t *context, bool on)
{
	(void)context;
	(void)on;
}
#endif

static void on_step(int number, siginfo_t *info, void *context)
{
	(void)number;
	if (info->si_code != TRAP_TRACE) {
		stepping = !stepping;
		set_trap(context, stepping);
		return;
	}
	step++;
	if (step == first) {
		kept = map(PAGE);
		handlers++;
	}
	if (step != second && step != third)
		return;
	if (step == third && jumps)
		siglongjmp(back, 1);
	if (step >= third)
		set_trap(context, false);
	for (unsigned i = step == second ? MANY : 1; i > 0; i--, handlers++)
		munmap(map(PAGE), PAGE);
}

static unsigned long random_below(unsigned long limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(random_state >> 33) % limit;
}

/* How many instructions it takes. */
static unsigned long run(unsigned long one, unsigned long other, unsigned long last)
{
	void *p = map(SIZE);

	step = 0;
	first = one;
	second = other;
	third = last;
	if (!sigsetjmp(back, 1)) {
		TOGGLE();
		munmap(p, SIZE);
		TOGGLE();
	}
	stepping = false;
	if (kept)
		munmap(kept, PAGE);
	kept = NULL;
	return step;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	unsigned long steps, rounds = 2;

	sigaction(SIGTRAP, &action, NULL);
	run(0, 0, ALL); /* binds */
	steps = run(0, 0, ALL);
	jumps = argc > 1 && !strcmp(argv[1], "jump");
	for (unsigned long i = 1; !jumps && i <= FIRST && i < steps; i++, rounds += 3) {
		run(i, i + 1, 0);
		run(i, i + 10, 0);
		run(i, i + 1 + random_below(steps - i), 0);
	}
	steps = run(FIRST, FIRST + 1, ALL);
	rounds++;
	for (unsigned long i = jumps ? JUMPS : LAST; i > 0; i--, rounds++)
		run(FIRST, FIRST + 1, steps - i * (jumps ? steps / 2 / JUMPS : 1));
	say("mapped", rounds);
	say("unmapped", rounds);
	say("handlers", handlers);
	say("steps", steps);
	return 0;
}
