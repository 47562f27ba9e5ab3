#pragma once
/*
 * Threads of the program, and the guard against hooks inside hooks.
 *
 * The guard is the frame address of the hook under way. A hook that finds it set is nested, or the
 * one before was left by a jump (longjmp out of a signal's handler): see nested() in thread.c for
 * how the two are told apart. Nested events are put aside without a stack and become records when
 * the outer hook is done.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"
#include "arch.h"

/* Only for HOOK_RECORD the guard is the hook's own frame. */
enum hook_kind {
	HOOK_RECORD, /* hook.thread is ours */
	HOOK_NESTED, /* hook.thread is that of the outer hook; NULL: it has none */
	HOOK_LOST,   /* no slice for this thread */
	HOOK_NONE,   /* nothing to record */
};

struct hook {
	struct thread *thread;
	/* Of a nested one no frame: 1 + how many events lay aside before it; see hook_aside. */
	uintptr_t frame;
	enum hook_kind kind;
};

/* What lies aside from this number on came while the nested hook was under way. */
static inline __attribute__((always_inline)) uint32_t hook_aside(const struct hook *hook)
{
	return (uint32_t)hook->frame - 1;
}

/* The slow ends of hook_enter: a thread's first hook, and a hook that finds the guard set. */
void thread_enter_first(struct hook *hook) __attribute__((noinline, cold));
void thread_enter_nested(struct hook *hook) __attribute__((noinline, cold));
/* What is in the header's control line now. */
void thread_obey(struct thread *thread, struct ring_header *ring) __attribute__((noinline, cold));
static inline __attribute__((always_inline)) uint32_t thread_control(const struct ring_header *ring)
{
	return __atomic_load_n(&ring->control, __ATOMIC_RELAXED) +
	       __atomic_load_n(&shim.control, __ATOMIC_RELAXED);
}

/* Sets the guard for the function whose frame this is, and takes it away. A handler may come
 * between any two of the stores: without a guard there is no return address either, so that none is
 * ever beside the frame of another hook. */
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

/* Does this thread look for a hook on its stack? It may have interrupted itself anywhere then: it
 * waits for nothing. */
bool thread_seeks(void);

/* Is a hook of this thread under way, for a function whose frame this is? */
bool thread_in_hook(uintptr_t frame);

/* In a fork child: the states of the parent's threads are nobody's now. */
void thread_forked(void);

/* Puts an event of a nested hook aside; the queue full, counts it as lost. */
void thread_put_aside(struct thread *thread, const struct event *event);
/* The same for a mark of this kind (0: one that is lost), without a text. */
void thread_put_mark_aside(struct thread *thread, uint32_t kind, uint64_t value);
/* Is an allocation at this address among what was put aside? */
bool thread_has_aside(const struct thread *thread, uint64_t address);
/* Takes back what was put aside, from number `from` on, by an allocator that serves `outer`, an
 * event of the heap, by calling itself by name. What was there before belongs to others: its block
 * may have been freed by another thread, and be `outer`'s now. Nothing, where events were lost. */
void thread_drop_inner(struct thread *thread, const struct event *outer, uint32_t from);

/* Enters the hook whose frame this is. `ring` is what shim_hook gave, not NULL. Between this and
 * hook_leave, events of this thread go aside. (The slow ends work on copies, so that the hook
 * itself can live in registers, where it is inlined.) */
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

/* Around the call of an allocator's function that may end in an exception. */
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

/* Leaves it: events that were put aside become records, and the agent need not wait for this
 * thread. */
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
