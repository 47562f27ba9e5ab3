/*
 * The functions that stand in front of the allocator's. Each one forwards at once where nothing is
 * recorded, else it notes what the allocator did:
 *
 *	allocation:	call the allocator, stamp, record
 *	free:		stamp, record, call the allocator
 *	reallocation:	stamp, call the allocator, stamp, record one event with both
 *
 * so that between the stamps of its birth and its death a block is truly this caller's.
 * What sampling passes over (sample.h) is forwarded at once, too.
 *
 * The stack begins at the hook's own frame. What is exported only decides, and jumps on (a tail
 * call, at the optimisation that CMakeLists.txt demands): so NAME_recorded stands in the exported
 * function's place on the stack, and the path of a process that is not recorded saves no register.
 *
 * Here is what programs call all the time; the rest of the family is in rare.c.
 */
#include <malloc.h>
#include <stdlib.h>

#include "agent/preload/bootstrap.h"
#include "agent/preload/clock.h"
#include "agent/preload/next.h"
#include "agent/preload/note.h"
#include "agent/preload/record.h"
#include "agent/preload/sample.h"
#include "agent/preload/state.h"
#include "agent/preload/thread.h"

#include "agent/preload/poison_io.h"

/* Where the door is shut: looks, and goes on. Apart, so that what is exported calls nothing and saves
 * no register. */
#define LOOK __attribute__((noinline))

void note_slow(struct thread *thread, enum hook_kind kind, const struct event *event)
{
	if (kind == HOOK_NONE)
		return;
	if (!thread && event_class(event->kind) == EVENT_CLASS_FREE)
		sample_take((void *)(uintptr_t)event->address);
	if (!thread)
		record_lost_anywhere(event);
	else if (!is_recorded(thread, event->kind) && !shim.sampled)
		return;
	else if (kind == HOOK_NESTED)
		thread_put_aside(thread, event);
	else
		record_lost(thread, event);
}

/* Allocations. */

static RECORDED void *malloc_recorded(size_t size, struct ring_header *ring)
{
	struct hook hook;
	void *p;

	hook_enter(&hook, ring, FRAME);
	p = next.malloc(size);
	note_allocation(&hook, KIND_MALLOC, p, size);
	return p;
}

static LOOK void *malloc_look(size_t size)
{
	struct ring_header *ring = shim_look(DOOR_ALLOCATIONS);

	return ring && !sample_passes(size) ? malloc_recorded(size, ring) : next.malloc(size);
}

EXPORT void *malloc(size_t size)
{
	struct ring_header *ring = shim_door(DOOR_ALLOCATIONS);

	if (!ring && unlikely(shim_attention()))
		return malloc_look(size);
	return unlikely(ring) && !sample_passes(size) ? malloc_recorded(size, ring)
						      : next.malloc(size);
}

static RECORDED void *calloc_recorded(size_t count, size_t size, struct ring_header *ring)
{
	struct hook hook;
	void *p;

	hook_enter(&hook, ring, FRAME);
	p = next.calloc(count, size);
	note_allocation(&hook, KIND_CALLOC, p, count * size);
	return p;
}

EXPORT void *calloc(size_t count, size_t size)
{
	struct ring_header *ring = shim_hook(DOOR_ALLOCATIONS);

	return unlikely(ring) && !sample_passes(count * size) ? calloc_recorded(count, size, ring)
							      : next.calloc(count, size);
}

/* Reallocations. With size 0 the block may be freed, as glibc does: that is an event of its own
 * kind, and as a free it bears the stamp of the call. */

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
		note(hook, &event);
	hook_leave(hook);
}

static RECORDED void *realloc_recorded(void *old, size_t size, struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	bool was_sampled;
	void *p;

	hook_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	was_sampled = sample_take(old);
	p = next.realloc(old, size);
	note_reallocation(&hook, KIND_REALLOC, p, old, size, call_stamp, was_sampled);
	return p;
}

EXPORT void *realloc(void *old, size_t size)
{
	struct ring_header *ring = shim_hook(DOOR_ALL);

	if (unlikely(bootstrap_owns(old)))
		return next_realloc_bootstrap(old, size);
	return unlikely(ring) && !sample_passes_realloc(old, size)
		       ? realloc_recorded(old, size, ring)
		       : next.realloc(old, size);
}

static RECORDED void *reallocarray_recorded(void *old, size_t count, size_t size,
					    struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	bool was_sampled;
	size_t bytes;
	void *p;

	hook_enter(&hook, ring, FRAME);
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
	struct ring_header *ring = shim_hook(DOOR_ALL);
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

	hook_enter(&hook, ring, FRAME);
	event = (struct event){.kind = KIND_FREE, .address = (uintptr_t)p, .stamp = stamp_now()};
	note(&hook, &event);
	hook_leave(&hook);
	next.free(p);
}

static LOOK void free_look(void *p)
{
	struct ring_header *ring = shim_look(DOOR_ALL);

	if (ring && p && !sample_passes_free(p))
		free_recorded(p, ring);
	else
		next.free(p);
}

EXPORT void free(void *p)
{
	struct ring_header *ring = shim_door(DOOR_ALL);

	if (unlikely(bootstrap_owns(p)))
		return;
	if (!ring && unlikely(shim_attention()))
		free_look(p);
	else if (unlikely(ring) && p && !sample_passes_free(p))
		free_recorded(p, ring);
	else
		next.free(p);
}

EXPORT size_t malloc_usable_size(void *p)
{
	return unlikely(bootstrap_owns(p)) ? bootstrap_size(p) : next.malloc_usable_size(p);
}
