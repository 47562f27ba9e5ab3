#pragma once
/*
 * Programs that forbid themselves system calls, or to read their counter: sandboxes. A call that a
 * hook makes of its own accord would end them, where it is not on their list.
 *
 * prctl and syscall are in front of libc's, so that a seccomp filter, mode strict, or a forbidden
 * counter is seen *before* it takes hold. A filter is run (filter.h): where it lets a call of ours
 * through nothing changes. Others are refused to this thread from there on; also to each whose
 * first event comes later, for it may have been made by this one; and to all where the filter is
 * for all. There is one place that knows: sys.c refuses the call, with -EPERM. What follows for its
 * callers:
 *
 *	a full slice	is not waited for: the agent looks each millisecond, what does not fit is
 *			counted
 *	memory		comes out of a reserve (sys_reserve) that was mapped before; there is none:
 *			a new thread's events are counted
 *	new modules	are looked for only where no other thread can hold the loader's lock
 *	stacks		that nobody knows the ends of are read up to the end of the page that they
 *			are in
 *	fork children	are not followed: nobody answers where nobody can ask
 *
 * Where the counter is forbidden, or the clock may be a system call, stamps come from a number in
 * the ring that the agent lifts to the time (ring_header.tick): in all threads of the process, so
 * that they stay in order.
 *
 * Filters that are set by an instruction of the program's own the agent sees in /proc, once a
 * second, and says so (filtered): then everything is refused to everybody.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* What this thread must not call: enum calls. Read in order with sys.c's count of calls under
 * way. */
static inline uint32_t strict_refused(void)
{
	uint32_t refused = __atomic_load_n(&shim.refused_new, __ATOMIC_SEQ_CST);

	if (unlikely(refused) && tls.thread)
		refused = __atomic_load_n(&shim.refused, __ATOMIC_SEQ_CST) | tls.refused;
	return refused;
}

/* Any of these? */
static inline bool strict_refuses(uint32_t calls)
{
	return strict_refused() & calls;
}

/* A thread's first event: it may be the child of one to which more is refused. Before tls.thread is
 * set. */
static inline void strict_begin_thread(void)
{
	tls.refused = (uint16_t)__atomic_load_n(&shim.refused_new, __ATOMIC_RELAXED);
}

/* In a fork child: the only thread is the one that forked. */
void strict_forked(void);

/* The agent has seen what nobody told us (enum ring_filtered). */
void strict_told(struct ring_header *ring, uint32_t filtered);

/* What is known of this goes into the header of a ring that is about to be written. */
void strict_introduce(struct ring_header *ring);

/* Before anything is asked of the system: this image may have begun behind a filter that nobody has
 * read. Then a child tries all calls, and what it dies of is refused. false: that is the start's,
 * so record nothing, and everything is refused, as it is where nobody wants a recording. The child
 * itself, and to wait for it, nobody can try. */
bool strict_may_begin(bool wanted);
