#pragma once
/*
 * A thread's place in the ring: claiming a slice, moving to a bigger one, room for records, and
 * what to do when there is none. proto/ring.h has the layout and the rules.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Takes a free slice for `thread`: the smallest with more than `words` words. `first` is what the
 * thread had begun in earlier slices. false: there is none. The thread's place is set; what it had
 * before must be given up by the caller. */
bool slice_claim(struct thread *thread, uint64_t words, uint64_t first);

/* A new thread's slice, of any size. If all are taken, but some by threads that have ended, and the
 * policy is to wait, the agent is given time to free one. */
bool slice_claim_patiently(struct thread *thread);

/* Goes on in a bigger slice, leaving a RING_MOVE, and before it what was lost until `stamp`. false:
 * none is free. The thread's next event has its whole stack: thread->moved tells those who were
 * about to write another one. */
bool slice_grow(struct thread *thread, uint64_t stamp);

/* A RING_LOST of what was lost since the last record. false: there is no room for it. */
bool slice_put_losses(struct thread *thread, uint64_t stamp);

/* At events of a thinned thread: it is thinned less once there has been room for some time. */
void slice_look_thinned(struct thread *thread);

/* How many frames a stack may have, by the order (thread->depth_limit) and the slice's size. */
void slice_set_depth(struct thread *thread);

/* Has the slice that a thread's place names lost its owner? */
bool slice_dead(uint64_t place);

/* Is there a thread with this id that has a slice and lives? */
bool slice_has_owner(uint32_t tid);

/* The slow end of slice_reserve: looks at the tail; else the thread moves to a larger slice, waits
 * as far as its policy permits (patience.h), or is sampled more thinly. false: no room for `words`,
 * or it has moved. */
bool slice_make_room(struct thread *thread, uint64_t words);

/* A RING_CUT: the thread begins anew, for this agent. false: there is no room for it now. */
bool slice_cut(struct thread *thread, uint32_t incarnation);

/* The agent's heart has stood still at this beat for as long as it may: nobody waits for it any
 * more. */
void slice_agent_gone(uint32_t beat);

/* May a quiet thread record again? */
bool slice_resume(struct thread *thread);

/* The slow end of slice_publish: the slice is perhaps half full. */
void slice_check(struct thread *thread);

/* Wakes the agent if it sleeps. */
void slice_doorbell(void);

/* Room for `words` in one piece, at the head; NULL: there is none. Not published yet. */
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

/* The same out of line, for records that are rare. */
uint64_t *slice_reserve_rarely(struct thread *thread, uint64_t words);
/* `words` written at what slice_reserve gave are a record. */
static inline void slice_publish(struct thread *thread, uint64_t words)
{
	thread->head += words;
	__atomic_store_n(&thread->slice->head, thread->head, __ATOMIC_RELEASE);
	if (unlikely(thread->head >= thread->check))
		slice_check(thread);
}
