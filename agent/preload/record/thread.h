#pragma once
/*
 * Threads of the program, and the guard against hooks inside hooks.
 *
 * The guard is the frame address of the hook under way. If a hook finds it set, then either this
 * hook is nested, or the previous one was left by a jump (longjmp out of a signal handler);
 * nested() in thread.c tells the two apart. Nested events are put aside without a stack, and become
 * records when the outer hook ends.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"
#include "arch.h"

/* The guard is the hook's own frame only with HOOK_RECORD. */
enum hook_kind {
	HOOK_RECORD, /* hook.thread is the calling thread's */
	HOOK_NESTED, /* hook.thread is that of the outer hook, or NULL if that has none */
	HOOK_LOST,   /* no slice for this thread */
	HOOK_NONE,   /* nothing to record */
};

struct hook {
	struct thread *thread;
	/* For a nested hook, this is not a frame but 1 + the number of events that were aside
	 * before it; see hook_aside. */
	uintptr_t frame;
	enum hook_kind kind;
};

/* Events aside from this index on were put there while the nested hook was under way. */
static inline __attribute__((always_inline)) uint32_t hook_aside(const struct hook *hook)
{
	return (uint32_t)hook->frame - 1;
}

/* The slow paths of hook_enter: a thread's first hook, and a hook that finds the guard set. */
void thread_enter_first(struct hook *hook) __attribute__((noinline, cold));
void thread_enter_nested(struct hook *hook) __attribute__((noinline, cold));
/* Reads the orders from the header's control line. */
void thread_obey(struct thread *thread, struct ring_header *ring) __attribute__((noinline, cold));
static inline __attribute__((always_inline)) uint32_t thread_control(const struct ring_header *ring)
{
	return __atomic_load_n(&ring->control, __ATOMIC_RELAXED) +
	       __atomic_load_n(&shim.control, __ATOMIC_RELAXED);
}

/* These set and clear the guard for the function with this frame. A signal handler may run between
 * any two of the stores. While no guard is set there is no return address either, so a return
 * address never stands beside the frame of another hook. */
static inline __attribute__((always_inline)) void guard_set(uintptr_t frame)
{
	struct unwind_regs regs;

	arch_caller(frame, &regs);
	tls.frame = frame;
	barrier();
	tls.return_address = regs.pc;
	barrier();
}

static inline __attribute__((always_inline)) void guard_clear(void)
{
	barrier();
	tls.return_address = 0;
	barrier();
	tls.frame = 0;
	barrier();
}

/* Returns true if this thread is searching its stack for a hook. It may then have interrupted
 * itself anywhere, so it waits for nothing. */
bool thread_seeks(void);

/* Returns true if a hook of this thread is under way for a function with this frame. */
bool thread_in_hook(uintptr_t frame);

/* Called in a fork child: frees the states of the parent's threads. */
void thread_forked(void);

/* Puts an event of a nested hook aside, or counts it as lost if the queue is full. */
void thread_put_aside(struct thread *thread, const struct event *event);
/* Does the same for a mark of this kind (0: a lost event), without a text. */
void thread_put_mark_aside(struct thread *thread, uint32_t kind, uint64_t value);
/* Returns true if an allocation at this address is among the events put aside. */
bool thread_has_aside(const struct thread *thread, uint64_t address);
/* Takes back events that were put aside, from index `from` on. An allocator that serves `outer`, an
 * event of the heap, caused them by calling itself by name. Earlier events are kept: their block
 * may have been freed by another thread, and may be `outer`'s block now. If events were lost,
 * nothing is taken back. */
void thread_drop_inner(struct thread *thread, const struct event *outer, uint32_t from);

/* Enters the hook with this frame. `ring` is the result of shim_hook, not NULL. Until hook_leave,
 * other events of this thread are put aside. (The slow paths work on copies, so that the hook
 * itself can live in registers where this is inlined.) */
static inline __attribute__((always_inline)) void
hook_enter(struct hook *hook, struct ring_header *ring, uintptr_t frame)
{
	struct thread *thread = tls.thread;

	hook->frame = frame;
	hook->thread = thread;
	hook->kind = HOOK_RECORD;
	if (unlikely(tls.frame)) {
		struct hook copy = *hook, *slow = ARCH_SMALL ? hook : &copy;

		thread_enter_nested(slow);
		*hook = *slow;
		if (hook->kind == HOOK_NESTED)
			return;
	}
	guard_set(frame);
	if (unlikely(!thread)) {
		struct hook copy = *hook, *slow = ARCH_SMALL ? hook : &copy;

		thread_enter_first(slow);
		*hook = *slow;
		thread = hook->thread;
		if (!thread)
			return;
	}
	if (unlikely(thread->control != thread_control(ring)))
		thread_obey(thread, ring);
	__atomic_store_n(&thread->slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
}

/* These two enclose the call of an allocator function that may end in an exception. */
static inline void hook_may_throw(const struct hook *hook)
{
	if (hook->kind != HOOK_NESTED)
		tls.throwing = tls.frame;
	barrier();
}

static inline void hook_has_not_thrown(const struct hook *hook)
{
	barrier();
	if (hook->kind != HOOK_NESTED)
		tls.throwing = 0;
}

/* Leaves the hook: events that were put aside become records, and the agent need not wait for this
 * thread any more. */
void hook_leave_slow(const struct hook *hook) __attribute__((cold));

static inline __attribute__((always_inline)) void hook_leave(const struct hook *hook)
{
	struct thread *thread = hook->thread;

	if (unlikely(tls.frame != hook->frame || thread->aside_count)) {
		struct hook copy = *hook;

		hook_leave_slow(ARCH_SMALL ? hook : &copy);
		return;
	}
	__atomic_store_n(&thread->slice->entered, 0, __ATOMIC_RELEASE);
	guard_clear();
	if (unlikely(thread->aside_count)) {
		struct hook copy = *hook;

		hook_leave_slow(ARCH_SMALL ? hook : &copy);
	}
}
