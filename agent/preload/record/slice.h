#pragma once
/*
 * A thread's place in the ring: claims a slice, moves to a larger one, provides room for records,
 * and decides what happens without room. proto/ring.h describes the layout and the rules.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Claims a free slice for `thread`: the best one with more than `words` words. `first` is the
 * number of events that the thread began in earlier slices. Returns false if no slice is free. Sets
 * the thread's place; the caller must give up the thread's previous slice. */
bool slice_claim(struct thread *thread, uint64_t words, uint64_t first);

/* Claims a slice of any size for a new thread. If all are taken, but some by threads that have
 * ended, and the policy is to wait, the function gives the agent time to free one. */
bool slice_claim_patiently(struct thread *thread);

/* Moves to a larger slice. Leaves a RING_MOVE in the old one, after a RING_LOST for the losses up
 * to `stamp`. Returns false if no slice is free. The thread's next event has its whole stack;
 * thread->moved tells this to callers that were about to write another one. */
bool slice_grow(struct thread *thread, uint64_t stamp);

/* Puts a RING_LOST for the losses since the last record. Returns false if there is no room. */
bool slice_put_losses(struct thread *thread, uint64_t stamp);

/* Called at events of a thinned thread: lowers the thinning after there has been room for some
 * time. */
void slice_look_thinned(struct thread *thread);

/* Sets the maximum number of frames of a stack, from the order (thread->depth_limit) and the
 * slice's size. */
void slice_set_depth(struct thread *thread);

/* Returns how many frames the numbered stacks of this thread may have (unwind_save); 0 where the
 * slice has no room for a RING_SAVE. */
uint32_t slice_saved_max(const struct thread *thread);

/* Returns true if the slice that a thread's place names has lost its owner. */
bool slice_dead(uint64_t place);

/* Returns true if a live thread with this id has a slice. */
bool slice_has_owner(uint32_t tid);

/* The slow path of slice_reserve. It looks at the tail. If there is still no room, the thread moves
 * to a larger slice, waits as far as its policy permits (patience.h), or is thinned. Returns false
 * if there is no room for `words`, or if the thread has moved. */
bool slice_make_room(struct thread *thread, uint64_t words);

/* Puts a RING_RESTART: the thread starts over for this agent. Returns false if there is no room for
 * it now. */
bool slice_restart(struct thread *thread, uint32_t incarnation);

/* Called when the agent's heartbeat has stopped at `beat` for longer than the timeout. No thread
 * waits for the agent any more. */
void slice_agent_gone(uint32_t beat);

/* Returns true if a quiet thread may record again. */
bool slice_resume(struct thread *thread);

/* The slow path of slice_publish: the slice may be half full. */
void slice_check(struct thread *thread);

/* Wakes the agent if it sleeps. */
void slice_doorbell(void);

/* Returns contiguous room for `words` at the head, or NULL. It is not published yet. */
static inline uint64_t *slice_reserve(struct thread *thread, uint64_t words)
{
	uint64_t at = thread->head & thread->mask;
	uint64_t left = thread->mask + 1 - at;
	uint64_t total = words <= left ? words : left + words;

	if (unlikely(thread->head + total > thread->limit)) {
		if (!slice_make_room(thread, total))
			return NULL;
	}
	if (unlikely(words > left)) {
		__atomic_store_n(&thread->data[at], RING_WORD0(RING_PAD, 0, 0, 0, 0, 0),
				 __ATOMIC_RELAXED);
		thread->head += left;
		at = 0;
	}
	return thread->data + at;
}

/* Does the same, not inlined, for rare records. */
uint64_t *slice_reserve_rarely(struct thread *thread, uint64_t words);
/* Publishes a record: the `words` written to the room from slice_reserve. */
static inline void slice_publish(struct thread *thread, uint64_t words)
{
	thread->head += words;
	__atomic_store_n(&thread->slice->head, thread->head, __ATOMIC_RELEASE);
	if (unlikely(thread->head >= thread->check))
		slice_check(thread);
}
