#pragma once
/* Stacks whose outer part is known: it is what a capture in the test function itself gives. Hooks
 * are called from below it, or from a signal at every instruction. */
#include "tests/unit/unwind/host.h"

#include <signal.h>

static struct unwind_thread *incremental, *full;
static struct consumer seen, outer;
static unsigned captures, truncated;

static NOINLINE void capture(bool *ret_truncated)
{
	struct consumer whole = {.depth = 0};
	struct unwind_regs regs;
	struct unwind_delta delta, other;

	unwind_regs_here(&regs);
	unwind_capture(incremental, &regs, UNWIND_MAX_DEPTH, &delta);
	consume(&seen, &delta);
	unwind_capture_full(full, &regs, UNWIND_MAX_DEPTH, &other);
	consume(&whole, &other);
	assert_int_equal(delta.flags, other.flags);
	assert_same_stack(&seen, &whole, "incremental and full walk differ");
	*ret_truncated = delta.flags & UNWIND_TRUNCATED;
	__asm__ volatile("");
}

/* All but the innermost frame, which differs by the line that is executed. */
static NOINLINE __attribute__((unused)) void remember_outer(void)
{
	bool cut;

	capture(&cut);
	assert_false(cut);
	outer = seen;
	outer.depth -= 2; /* this function, and the place in its caller */
	captures = truncated = 0;
}

static NOINLINE __attribute__((unused)) void hook(void)
{
	bool cut;

	capture(&cut);
	captures++;
	truncated += cut;
	if (!cut && (seen.depth <= outer.depth ||
		     memcmp(seen.pcs, outer.pcs, outer.depth * sizeof(outer.pcs[0])) != 0)) {
		show("got", seen.pcs, seen.depth);
		show("expected at the outer end", outer.pcs, outer.depth);
		fail_msg("the stack leads elsewhere");
	}
}

static inline void trapped(int number)
{
	(void)number;
	hook();
}

static inline void set_trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static inline void with_traps(void (*run)(void))
{
	struct sigaction action = {.sa_handler = trapped}, old;

	sigaction(SIGTRAP, &action, &old);
	captures = truncated = 0;
	run();
	sigaction(SIGTRAP, &old, NULL);
}

static inline void outer_setup(const struct unwind_host *host)
{
	assert_int_equal(unwind_init(host), 0);
	incremental = new_unwind_thread();
	full = new_unwind_thread();
	host_know_stack();
}

/* The hook is called at least `least` times, and every stack is whole. */
static inline void assert_whole(unsigned least)
{
	assert_true(captures >= least);
	assert_int_equal(truncated, 0);
}
