#pragma once
/*
 * Functions by which a hook notes an event. hooks.c and operators.c share them; they explain how a
 * hook is made.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/record/record.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/thread.h"
#include "proto/event.h"

#define EXPORT	      __attribute__((visibility("default")))
#define RECORDED      __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define FRAME	      ARCH_FRAME

/* Numbers of enum EventKind, from the table that both sides share. */
enum kind {
#define X(number, suffix, class_, name) KIND_##suffix = (number),
	EVENT_KINDS(X)
#undef X
};

/* For a free that is not recorded at once: removes the block from the set of sampled blocks before
 * another thread can get its address. If the block's allocation still waits, too, the block is not
 * in the set yet; both are then decided on in order when they are recorded. */
void note_seek(const struct thread *thread, struct event *event) __attribute__((cold));

/* Notes an event of a hook that is nested or lost, or that was left. `aside` is hook_aside of a
 * nested hook. */
void note_slow(struct thread *thread, enum hook_kind kind, uint32_t aside,
	       const struct event *event) __attribute__((cold));

/* Ends a hook that has called the allocator's realloc at `call_stamp`. `was_sampled` is the result
 * of sample_take for the old block, before the call. In hooks.c. */
void note_reallocation(struct hook *hook, unsigned kind, const void *p, const void *old,
		       size_t size, uint64_t call_stamp, bool was_sampled);

/* Records the hook's event, puts it aside, or counts it. The slow paths get copies, so that hook
 * and event can stay in registers where this is inlined. */
static ALWAYS_INLINE void note(const struct hook *hook, const struct event *event)
{
	struct thread *thread = hook->thread;
	uintptr_t frame;

	if (unlikely(tls.frame != hook->frame)) {
		struct event copy = *event;

		note_slow(thread, hook->kind, hook_aside(hook), ARCH_SMALL ? event : &copy);
		return;
	}
	frame = thread->free_stacks || event->kind < KIND_FREE ? hook->frame : 0;
	if (event->kind < KIND_FREE && unlikely(thread->aside_count)) {
		struct event copy = *event;

		thread_drop_inner(thread, ARCH_SMALL ? event : &copy, 0);
	}
	if (ARCH_SMALL) {
		record_noted(thread, event, frame);
		return;
	}
	if (event_class(event->kind) == EVENT_CLASS_REALLOCATION) {
		struct event copy = *event;

		record_event(thread, &copy, hook->frame);
		return;
	}
	record_block(thread, event->kind, event->address, event->size, event->stamp, frame);
}

static ALWAYS_INLINE void note_allocation(struct hook *hook, unsigned kind, const void *p,
					  size_t size)
{
	if (likely(p)) {
		struct event event = {
			.kind = kind, .address = (uintptr_t)p, .size = size, .stamp = stamp_now()};

		note(hook, &event);
	}
	hook_leave(hook);
}
