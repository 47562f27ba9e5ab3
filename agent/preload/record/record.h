#pragma once
/*
 * Writes events as records to the thread's slice, or counts them as lost. Call these functions only
 * inside a hook.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"
#include "agent/preload/record/thread.h"
#include "proto/event.h"

/* Returns true if every event of this kind is recorded unchanged. Otherwise sample.h decides. */
static inline bool is_recorded(const struct thread *thread, unsigned kind)
{
	return event_class(kind) == EVENT_CLASS_ALLOCATION ? thread->allocations : thread->frees;
}

/* Records `event`, if it is wanted, with the stack of the hook whose frame this is, or without a
 * stack if `frame` is 0. Preserves errno. */
void record_event(struct thread *thread, const struct event *event, uintptr_t frame);

/* Does the same for an allocation or a free, with the event in registers. */
void record_block(struct thread *thread, uint32_t kind, uint64_t address, uint64_t size,
		  uint64_t stamp, uintptr_t frame);

/* Does the same for a hook's own event in memory. */
void record_noted(struct thread *thread, const struct event *event, uintptr_t frame);

/* Puts a RING_MARK or, if `text` is not NULL, a RING_TEXT of this MarkKind. It can use room that
 * events cannot. Returns false if even that is full. */
bool record_mark(struct thread *thread, uint32_t kind, uint64_t value, const char *text,
		 size_t length);

/* Does the same for a mark or text of the program. If there is no room, or `kind` is 0, counts it
 * as a lost event. */
void record_said(struct thread *thread, uint32_t kind, uint64_t value, const char *text,
		 size_t length);

/* Counts an event of this thread, or several, as begun and lost. */
void record_lost(struct thread *thread, const struct event *event);
void record_lost_sum(struct thread *thread, const struct ring_losses *lost);

/* Adds one event to a sum of losses. */
void record_count_lost(struct ring_losses *losses, const struct event *event);

/* Counts an event of a thread that has no slice. */
void record_lost_anywhere(const struct event *event);
