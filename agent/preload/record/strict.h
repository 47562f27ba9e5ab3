#pragma once
/*
 * Sandboxed programs, which forbid themselves system calls or reads of the counter. A system call
 * that a hook makes for itself would kill such a program if its filter does not allow the call.
 *
 * The library interposes libc's prctl and syscall, so it sees a seccomp filter, mode strict, or a
 * forbidden counter *before* it takes effect. It runs the filter (filter.h). If the filter allows
 * all of the library's calls, nothing changes. Otherwise the forbidden calls are refused to this
 * thread from then on. They are also refused to each thread whose first event comes later, because
 * this thread may have created it, and to all threads if the filter applies to all. Only sys.c
 * checks this; it refuses the call with -EPERM. The consequences for its callers:
 *
 *	a thread does not wait when its slice is full: the agent looks each millisecond, and
 *		events that do not fit are counted
 *	memory comes from a reserve (sys_reserve) that was mapped before; if that is used up,
 *		a new thread's events are counted
 *	the library looks for new modules only where no other thread can hold the loader's lock
 *	stacks with unknown bounds are read up to the end of the page that they are in
 *	fork children are not followed: they cannot ask an agent
 *
 * Where the counter is forbidden, or the clock may be a system call, stamps come from a number in
 * the ring that the agent advances to the current time (ring_header.tick). This holds for all
 * threads of the process, so that their stamps stay in order.
 *
 * The agent sees filters that the program sets by an instruction of its own in /proc, once a
 * second. It reports them (`filtered`); from then on all calls are refused to all threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Returns the calls that this thread must not make (enum calls). The read is ordered with sys.c's
 * count of calls under way. */
static inline uint32_t strict_refused(void)
{
	uint32_t refused = __atomic_load_n(&shim.refused_new, __ATOMIC_SEQ_CST);

	if (unlikely(refused) && tls.thread)
		refused = __atomic_load_n(&shim.refused, __ATOMIC_SEQ_CST) | tls.refused;
	return refused;
}

/* Returns true if any of these is refused. */
static inline bool strict_refuses(uint32_t calls)
{
	return strict_refused() & calls;
}

/* Called at a thread's first event, before tls.thread is set: the thread that created it may have
 * had more calls refused. */
static inline void strict_begin_thread(void)
{
	tls.refused = (uint16_t)__atomic_load_n(&shim.refused_new, __ATOMIC_RELAXED);
}

/* Called in a fork child: its only thread is the one that forked. */
void strict_forked(void);

/* Called when the agent has reported filters that the library did not see (enum ring_filtered). */
void strict_told(struct ring_header *ring, uint32_t filtered);

/* Writes the known restrictions into the header of a ring that is about to be used. */
void strict_introduce(struct ring_header *ring);

/* Called before the first system call, because this image may have started behind a filter that the
 * library has not read. If so, a child process tries all calls, and those that kill it are refused.
 * Returns false if these include a call that recording needs to start; the process then records
 * nothing, and all calls are refused. All are also refused if `wanted` is false. Creating the child
 * and waiting for it cannot be tried. */
bool strict_may_begin(bool wanted);
