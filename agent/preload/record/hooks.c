/*
 * The functions that interpose the allocator's. Each forwards at once if nothing is recorded;
 * otherwise it notes what the allocator did:
 *
 *	allocation:    call the allocator, stamp, record
 *	free:          stamp, record, call the allocator
 *	reallocation:  stamp, call the allocator, stamp, record one event with both
 *
 * A block therefore belongs to its caller throughout the time between the stamps of its allocation
 * and its free. Calls that sampling skips (sample.h) are forwarded at once, too.
 *
 * The stack begins at the hook's own frame. An exported function only decides, and then jumps (a
 * tail call, at the optimisation level that CMakeLists.txt demands). NAME_recorded thus takes the
 * exported function's place on the stack, and the path of a process that is not recorded saves no
 * register.
 *
 * This file has the functions that programs call all the time; rare.c has the rest of the family.
 */
#include <malloc.h>
#include <stdlib.h>

#include "agent/preload/record/often.h"
#include "agent/preload/system/bootstrap.h"
#include "agent/preload/system/clock.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/record.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/thread.h"

#include "agent/preload/poison_io.h"

/* Exported functions jump to these instead where further checks are needed. */
#define SLOW __attribute__((noinline, cold))

void note_seek(const struct thread *thread, struct event *event)
{
	if (event_class(event->kind) != EVENT_CLASS_FREE || event->kind == KIND_REALLOC_FREE ||
	    event->was_sampled || event->was_sought)
		return;
	event->was_sampled = sample_take((void *)(uintptr_t)event->address);
	event->was_sought = !thread || !thread_has_aside(thread, event->address);
}

void note_slow(struct thread *thread, enum hook_kind kind, uint32_t aside,
	       const struct event *event)
{
	struct event sought = *event;

	if (kind == HOOK_NONE)
		return;
	note_seek(thread, &sought);
	if (!thread)
		record_lost_anywhere(&sought);
	else if (!is_recorded(thread, sought.kind) && !shim.sampled)
		return;
	else if (kind == HOOK_NESTED) {
		/* Not for mappings: mremap has put an event for its old range aside, too. */
		if (sought.kind < KIND_MMAP)
			thread_drop_inner(thread, &sought, aside);
		thread_put_aside(thread, &sought);
	} else {
		record_lost(thread, &sought);
	}
}

/* Allocations. */

static RECORDED void *malloc_recorded(size_t size, struct ring_header *ring)
{
	struct hook hook;
	void *p;

	often_enter(&hook, ring, FRAME);
	p = next.malloc(size);
	often_allocation(&hook, KIND_MALLOC, p, size);
	return p;
}

/* In a fork child, or while recording is off. */
static SLOW void *malloc_look(size_t size)
{
	struct ring_header *ring = shim_hook(GATE_ALLOCATIONS);

	return ring ? malloc_recorded(size, ring) : next.malloc(size);
}

EXPORT void *malloc(size_t size)
{
	struct ring_header *ring;

	if (sample_skips(size) || !shim_watches(GATE_ALLOCATIONS, &ring))
		return next.malloc(size);
	return likely(ring) ? malloc_recorded(size, ring) : malloc_look(size);
}

static RECORDED void *calloc_recorded(size_t count, size_t size, struct ring_header *ring)
{
	struct hook hook;
	void *p;

	often_enter(&hook, ring, FRAME);
	p = next.calloc(count, size);
	often_allocation(&hook, KIND_CALLOC, p, count * size);
	return p;
}

static SLOW void *calloc_look(size_t count, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_ALLOCATIONS);

	return ring ? calloc_recorded(count, size, ring) : next.calloc(count, size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	struct ring_header *ring;

	if (sample_skips(count * size) || !shim_watches(GATE_ALLOCATIONS, &ring))
		return next.calloc(count, size);
	return likely(ring) ? calloc_recorded(count, size, ring) : calloc_look(count, size);
}

/* Reallocations. With size 0 the block may be freed, as glibc does. This is an event of its own
 * kind and, like a free, has the stamp of the call. */

void note_reallocation(struct hook *hook, unsigned kind, const void *p, const void *old,
		       size_t size, uint64_t call_stamp, bool was_sampled)
{
	struct event event = {
		.kind = kind,
		.address = (uintptr_t)p,
		.size = size,
		.old_address = (uintptr_t)old,
		.call_stamp = call_stamp,
		.was_sampled = was_sampled,
	};

	if (!p && old && !size) {
		event.kind = KIND_REALLOC_FREE;
		event.address = (uintptr_t)old;
		event.stamp = call_stamp;
	} else {
		event.stamp = stamp_now();
	}
	if (p || old)
		often_note(hook, &event);
	often_leave(hook);
}

static RECORDED void *realloc_recorded(void *old, size_t size, struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	bool was_sampled;
	void *p;

	often_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	was_sampled = sample_take(old);
	p = next.realloc(old, size);
	note_reallocation(&hook, KIND_REALLOC, p, old, size, call_stamp, was_sampled);
	return p;
}

/* In a fork child, while recording is off, or if the block may be sampled. */
static SLOW void *realloc_sought(void *old, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);

	if (!ring || sample_skips_realloc_sought(old, size))
		return next.realloc(old, size);
	return realloc_recorded(old, size, ring);
}

EXPORT void *realloc(void *old, size_t size)
{
	struct ring_header *ring;

	if (sample_skips_realloc(old, size))
		return next.realloc(old, size);
	if (unlikely(bootstrap_owns(old)))
		return next_realloc_bootstrap(old, size);
	if (!shim_watches(GATE_OTHERS, &ring))
		return next.realloc(old, size);
	return likely(ring && !tls.skipped) ? realloc_recorded(old, size, ring)
					    : realloc_sought(old, size);
}

static RECORDED void *reallocarray_recorded(void *old, size_t count, size_t size,
					    struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	bool was_sampled;
	size_t bytes;
	void *p;

	often_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	was_sampled = sample_take(old);
	p = next.reallocarray(old, count, size);
	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	note_reallocation(&hook, KIND_REALLOCARRAY, p, old, bytes, call_stamp, was_sampled);
	return p;
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);
	size_t bytes;

	if (unlikely(bootstrap_owns(old)))
		return __builtin_mul_overflow(count, size, &bytes)
			       ? NULL
			       : next_realloc_bootstrap(old, bytes);
	return unlikely(ring) ? reallocarray_recorded(old, count, size, ring)
			      : next.reallocarray(old, count, size);
}

/* Frees. */

static RECORDED void free_recorded(void *p, struct ring_header *ring)
{
	struct event event;
	struct hook hook;

	often_enter(&hook, ring, FRAME);
	event = (struct event){.kind = KIND_FREE, .address = (uintptr_t)p, .stamp = stamp_now()};
	often_note(&hook, &event);
	often_leave(&hook);
	next.free(p);
}

/* In a fork child, while recording is off, or if the block may be sampled. */
static SLOW void free_sought(void *p)
{
	struct ring_header *ring;

	if (bootstrap_owns(p))
		return;
	ring = shim_hook(GATE_OTHERS);
	if (!ring || sample_skips_free_sought(p))
		next.free(p);
	else
		free_recorded(p, ring);
}

EXPORT void free(void *p)
{
	struct ring_header *ring;

	if (tls.skipped) {
		if (!p || sample_skips_free(p))
			next.free(p);
		else
			free_sought(p);
	} else if (likely(!bootstrap_owns(p))) {
		if (!p || !shim_watches(GATE_OTHERS, &ring))
			next.free(p);
		else if (likely(ring))
			free_recorded(p, ring);
		else
			free_sought(p);
	}
}

EXPORT size_t malloc_usable_size(void *p)
{
	return unlikely(bootstrap_owns(p)) ? bootstrap_size(p) : next.malloc_usable_size(p);
}
