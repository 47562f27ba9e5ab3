/*
 * Writes records with the layout of proto/ring.h; see record.h.
 *
 * put_any handles every event; put_short is a shorter path that handles most. Both exist because
 * put_any for every event takes 43 ns instead of 34 at depth 5, and 51 instead of 41 at depth 20.
 */
#include "agent/preload/record/record.h"

#include <string.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/record/thin.h"
#include "agent/unwind/arch/arch.h"
#include "proto/event.h"
#include "observe.h"

#include "agent/preload/poison.h"

#define COLD	      __attribute__((noinline, cold))
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define GROW_PRESSURE 4 /* times in a row that a slice was found half full */
#define TEXT_MAX      256
#define EPOCH_WORDS   3
#define SAVE_WORDS    3
#define EVENT_WORDS   3
#define EXTRA_MAX     4
#define PSEUDO_MAX    2
#define SHORT_WORDS   (EVENT_WORDS + EXTRA_MAX + UNWIND_QUICK_MAX)

/* Frames that stand for missing parts of a stack: numbers of enum PseudoFrame in heapcast.proto. No
 * program counter has these values. */
#define FRAME_TRUNCATED	  1u
#define FRAME_DEPTH_LIMIT 2u

void record_count_lost(struct ring_losses *losses, const struct event *event)
{
	losses->events++;
	switch (event_class(event->kind)) {
	case EVENT_CLASS_FREE:
		losses->frees++;
		break;
	case EVENT_CLASS_REALLOCATION:
		losses->frees += event->old_address != 0 && event->address != 0;
		losses->allocations += event->address != 0;
		losses->bytes += event->address ? event->size : 0;
		break;
	case EVENT_CLASS_CALL:
	case EVENT_CLASS_NONE: /* a mark */
		break;
	default:
		losses->allocations++;
		losses->bytes += event->size;
	}
}

static void record_add(struct ring_losses *to, const struct ring_losses *more)
{
	to->events += more->events;
	to->allocations += more->allocations;
	to->frees += more->frees;
	to->bytes += more->bytes;
}

static void record_lose(struct thread *thread, const struct ring_losses *lost)
{
	record_add(&thread->slice->lost, lost);
	record_add(&thread->pending, lost);
	thread->short_until = 0;
	unwind_forget(thread->unwind);
}

void record_lost_sum(struct thread *thread, const struct ring_losses *lost)
{
	__atomic_store_n(&thread->slice->events, thread->slice->events + lost->events,
			 __ATOMIC_RELAXED);
	record_lose(thread, lost);
}

void record_lost(struct thread *thread, const struct event *event)
{
	struct ring_losses lost = {0};

	record_count_lost(&lost, event);
	record_lost_sum(thread, &lost);
}

static ALWAYS_INLINE void count_begun(struct thread *thread)
{
	__atomic_store_n(&thread->slice->events, thread->slice->events + 1, __ATOMIC_RELAXED);
	barrier();
}

/* Counts an event that has begun as lost. A block whose allocation is not on record is not
 * followed; otherwise its free would be recorded without an allocation. */
static COLD void lose_begun(struct thread *thread, const struct event *event)
{
	struct ring_losses lost = {0};

	if (event_space(event->kind) == EVENT_SPACE_HEAP &&
	    event_class(event->kind) != EVENT_CLASS_FREE)
		sample_take((void *)(uintptr_t)event->address);
	record_count_lost(&lost, event);
	record_lose(thread, &lost);
}

void record_lost_anywhere(const struct event *event)
{
	struct ring_header *ring = shim_ring();
	struct ring_losses losses = {0};

	if (!ring)
		return;
	record_count_lost(&losses, event);
	__atomic_fetch_add(&ring->no_slice.allocations, losses.allocations, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ring->no_slice.frees, losses.frees, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ring->no_slice.bytes, losses.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ring->no_slice.events, 1, __ATOMIC_RELEASE);
}

static bool put_epoch(struct thread *thread, uint32_t epoch, uint64_t stamp)
{
	uint64_t *record = slice_reserve_rarely(thread, EPOCH_WORDS);

	if (!record)
		return false;
	record[0] = RING_WORD0(RING_EPOCH, 0, 0, 0, 0, 0);
	record[1] = epoch;
	record[2] = stamp;
	slice_publish(thread, EPOCH_WORDS);
	thread->epoch = epoch;
	unwind_forget(thread->unwind);
	return true;
}

/* Puts the records that must precede the next one. They have the stamp of that record, so that
 * stamps in a slice never go back. */
static COLD bool put_preface(struct thread *thread, uint64_t stamp)
{
	uint32_t epoch = __atomic_load_n(&shim.epoch, __ATOMIC_ACQUIRE);

	if (thread->pending.events && !slice_put_losses(thread, stamp))
		return false;
	return thread->epoch == epoch || put_epoch(thread, epoch, stamp);
}

static ALWAYS_INLINE bool is_epoch_put(const struct thread *thread)
{
	return likely(thread->epoch == __atomic_load_n(&shim.epoch, __ATOMIC_ACQUIRE));
}

static inline void record_walk(struct thread *thread, const struct unwind_regs *regs,
			       struct unwind_delta *delta)
{
	if (likely(thread->verify))
		unwind_capture(thread->unwind, regs, thread->depth, delta);
	else
		unwind_capture_full(thread->unwind, regs, thread->depth, delta);
}

/* Repeats the walk if necessary. The walk itself may find that modules are gone. Its result then
 * belongs to the epoch that has ended, and the walk is repeated after an EPOCH record. It is also
 * repeated if an outermost pseudo frame would appear or disappear below frames that are kept. */
static COLD bool capture_again(struct thread *thread, uintptr_t frame, uint64_t stamp,
			       struct unwind_delta *delta)
{
	struct unwind_regs regs;

	arch_caller(frame, &regs);
	for (int attempt = 0; attempt < 3; attempt++) {
		uint32_t pseudo;

		if (!put_preface(thread, stamp))
			return false;
		record_walk(thread, &regs, delta);
		pseudo = delta->flags & UNWIND_TRUNCATED;
		if (!is_epoch_put(thread))
			continue;
		if (!delta->keep || pseudo == thread->pseudo) {
			thread->pseudo = pseudo;
			return true;
		}
		unwind_forget(thread->unwind);
	}
	return false;
}

static bool capture(struct thread *thread, uintptr_t frame, uint64_t stamp,
		    struct unwind_delta *delta)
{
	struct unwind_regs regs;
	uint32_t pseudo;

	arch_caller(frame, &regs);
	record_walk(thread, &regs, delta);
	pseudo = delta->flags & UNWIND_TRUNCATED;
	if (likely(is_epoch_put(thread) && delta->keep && pseudo == thread->pseudo))
		return true;
	if (is_epoch_put(thread) && !delta->keep) {
		thread->pseudo = pseudo;
		return true;
	}
	unwind_forget(thread->unwind);
	return capture_again(thread, frame, stamp, delta);
}

static unsigned put_extras(uint64_t *to, const struct event *event, bool is_reallocation)
{
	unsigned count = 0;

	if (unlikely(event->size > UINT32_MAX))
		to[count++] = event->size;
	if (unlikely(event->interval))
		to[count++] = event->interval;
	if (is_reallocation) {
		to[count++] = event->old_address;
		to[count++] = event->call_stamp;
	}
	return count;
}

/* Writes the new frames with the pseudo frames: that of the depth limit is innermost, that of an
 * incomplete walk outermost. */
static unsigned put_frames(uint64_t *to, const struct unwind_delta *delta)
{
	const uint64_t *pcs = delta->pcs;
	uint32_t fresh = delta->count;
	unsigned count = 0;

	if (unlikely(delta->flags & UNWIND_DEPTH_LIMIT))
		to[count++] = FRAME_DEPTH_LIMIT;
	for (uint32_t i = 0; i < fresh; i++)
		to[count++] = pcs[i];
	if (unlikely((delta->flags & UNWIND_TRUNCATED) && !delta->keep))
		to[count++] = FRAME_TRUNCATED;
	return count;
}

static bool record_put_event(struct thread *thread, struct event *event,
			     const struct unwind_delta *delta, bool is_reallocation)
{
	uint64_t *record = slice_reserve(thread, EVENT_WORDS + EXTRA_MAX + delta->count +
							 PSEUDO_MAX + thread->spare);
	bool large = event->size > UINT32_MAX;
	uint32_t keep = delta->keep ? delta->keep + thread->pseudo : 0;
	unsigned extras, frames;

	if (delta->number)
		keep = RING_RECALL + delta->number - 1;
	if (unlikely(!record))
		return false;
	if (thread->waited)
		event->stamp = stamp_now();
	extras = put_extras(record + EVENT_WORDS, event, is_reallocation);
	frames = put_frames(record + EVENT_WORDS + extras, delta);
	record[0] = RING_WORD0(event->kind, frames, keep, large, event->interval != 0,
			       large ? 0 : event->size);
	record[1] = event->address;
	record[2] = event->stamp;
	slice_publish(thread, EVENT_WORDS + extras + frames);
	return true;
}

/* Returns the position up to which the next events may use the short path: where the slice is half
 * full, its data ends, or the limit of its reader is reached; 0 if any part of this thread's state
 * is unusual. */
static uint64_t short_until(const struct thread *thread)
{
	uint64_t end = (thread->head | thread->mask) + 1;

	if (!thread->allocations || !thread->frees || !thread->verify || thread->quiet ||
	    shim.gone || thread->pending.events || thread->pseudo || thread->cut)
		return 0;
	if (end > thread->limit)
		end = thread->limit;
	if (end > thread->check)
		end = thread->check;
	return end > SHORT_WORDS ? end - SHORT_WORDS : 0;
}

static bool put_whole(struct thread *thread, struct event *event, uintptr_t frame,
		      struct unwind_delta *delta, bool is_reallocation)
{
	return (likely(!thread->quiet && !shim.gone) || slice_resume(thread)) &&
	       ((!thread->pending.events && is_epoch_put(thread)) ||
		put_preface(thread, event->stamp)) &&
	       (!frame || capture(thread, frame, event->stamp, delta)) &&
	       record_put_event(thread, event, delta, is_reallocation);
}

/* Does the same as put_whole, but tries again if that failed because the thread has moved to a
 * larger slice. */
static bool put_anywhere(struct thread *thread, struct event *event, uintptr_t frame,
			 struct unwind_delta *delta, bool is_reallocation)
{
	do {
		thread->moved = false;
		if (put_whole(thread, event, frame, delta, is_reallocation))
			return true;
	} while (thread->moved);
	return false;
}

/*
 * An event that stands for others must not be lost (docs/sampling.md). A sampled thread therefore
 * reserves the last eighth of its slice for events that find no room in the rest. They are written
 * without their stack. The less of this reserve is left, the more sparsely the thread samples, so
 * there are few of them. With policy thin this also holds in full mode, when a stack is too large
 * for the room that is left.
 */
static COLD bool put_bare(struct thread *thread, struct event *event, bool is_reallocation)
{
	struct unwind_delta none = {0};
	bool put, quiet = thread->quiet;

	if ((!thread->interval && thread->policy != RING_THIN) || shim.gone)
		return false;
	/* The event has no frames, so no pseudo frames. */
	thread->spare = thin_marks(thread) - PSEUDO_MAX;
	do {
		thread->moved = false;
		put = record_put_event(thread, event, &none, is_reallocation);
	} while (!put && thread->moved);
	thread->quiet = quiet;
	unwind_forget(thread->unwind);
	if (put)
		thread->last_stamp = event->stamp;
	if (put || thread->policy == RING_THIN)
		thin_more(thread, event_class(event->kind) == EVENT_CLASS_FREE);
	thread->spare = thin_spare(thread);
	return put;
}

_Static_assert(UNWIND_SAVED_MAX == RING_SAVED_MAX, "numbers of stacks");

/* Numbers the stack of the event that was just recorded, so that it need not be sent again. */
static COLD void record_save_stack(struct thread *thread, uint64_t stamp)
{
	uint32_t number = unwind_save(thread->unwind, slice_saved_max(thread));
	uint64_t *record;

	if (!number)
		return;
	record = slice_reserve_rarely(thread, SAVE_WORDS);
	if (!record) {
		unwind_forget(thread->unwind);
		return;
	}
	record[0] = RING_WORD0(RING_SAVE, 0, 0, 0, 0, 0);
	record[1] = number - 1;
	record[2] = stamp;
	slice_publish(thread, SAVE_WORDS);
	thread->slice->saved_frames = unwind_saved_frames(thread->unwind);
}

/* The long path: records any event, in any state of its thread. sample.h may change the event.
 * `here` is set if the event is the hook's own: its block is known only to this thread yet, or
 * still belongs to the program. If such an event must wait for room, it may as well have happened
 * after the wait, so the agent need not hold back other threads' events meanwhile. */
static COLD void put_any(struct thread *thread, struct event *event, uintptr_t frame, bool here)
{
	struct unwind_delta delta = {0};
	bool is_reallocation;

	if (unlikely(thread->thinned))
		slice_look_thinned(thread);
	if (!is_recorded(thread, event->kind) && !sample_wants(thread, event))
		return;
	is_reallocation = event_class(event->kind) == EVENT_CLASS_REALLOCATION;
	thread->may_wait_outside = here && !is_reallocation && !thread->aside_count;
	thread->under_way = event->stamp;
	count_begun(thread);
	if (put_anywhere(thread, event, frame, &delta, is_reallocation)) {
		thread->last_stamp = event->stamp;
		thread->cut = delta.flags & UNWIND_DEPTH_LIMIT;
		observe(thread, frame);
		if (unlikely(delta.recurs))
			record_save_stack(thread, event->stamp);
		if (thread->pressure >= GROW_PRESSURE)
			slice_grow(thread, event->stamp);
	} else if (!put_bare(thread, event, is_reallocation)) {
		lose_begun(thread, event);
	}
	thread->may_wait_outside = thread->waited = false;
	thread->short_until = short_until(thread);
}

/* The short path: the position `short_until` covers nearly all unusual conditions, and the walk
 * writes the changed frames directly to their place in the record. Returns false if nothing was
 * recorded. */
static ARCH_HOT bool put_short(struct thread *thread, const struct event *event, uintptr_t frame,
			       bool is_reallocation)
{
	uint64_t *record = thread->data + (thread->head & thread->mask);
	unsigned words = is_reallocation ? EVENT_WORDS + 2 : EVENT_WORDS;
	struct unwind_quick quick = {0};
	struct unwind_regs regs;

	if (unlikely(thread->head >= thread->short_until || event->size > UINT32_MAX))
		return false;
	if (frame) {
		arch_caller(frame, &regs);
		quick = unwind_quick(thread->unwind, regs.pc, regs.sp, regs.fp, thread->depth,
				     record + words);
		if (unlikely(!quick.keep))
			return false;
	}
	if (unlikely(!is_epoch_put(thread)))
		return false;
	count_begun(thread);
	record[0] = RING_WORD0(event->kind, quick.count, quick.keep, 0, 0, event->size);
	record[1] = event->address;
	record[2] = event->stamp;
	if (is_reallocation) {
		record[3] = event->old_address;
		record[4] = event->call_stamp;
	}
	thread->last_stamp = event->stamp;
	thread->head += words + quick.count;
	__atomic_store_n(&thread->slice->head, thread->head, __ATOMIC_RELEASE);
	observe(thread, frame);
	return true;
}

/* Records an event by the shorter path if possible. Passes `event` only to inlined functions or as
 * a copy, so that it stays in registers. */
static ARCH_HOT void put(struct thread *thread, const struct event *event, uintptr_t frame,
			 bool is_reallocation)
{
	if (unlikely(!put_short(thread, event, frame, is_reallocation))) {
		struct event copy = *event;

		put_any(thread, &copy, frame, true);
	}
}

void record_event(struct thread *thread, const struct event *event, uintptr_t frame)
{
	struct event copy = *event;

	if (event_class(copy.kind) == EVENT_CLASS_REALLOCATION)
		put(thread, &copy, frame, true);
	else
		put_any(thread, &copy, frame, false);
}

void record_noted(struct thread *thread, const struct event *event, uintptr_t frame)
{
	put(thread, event, frame, event_class(event->kind) == EVENT_CLASS_REALLOCATION);
}

void record_block(struct thread *thread, uint32_t kind, uint64_t address, uint64_t size,
		  uint64_t stamp, uintptr_t frame)
{
	struct event event = {.kind = kind, .address = address, .size = size, .stamp = stamp};

	put(thread, &event, frame, false);
}

/* Puts a mark or text if `spare` words stay free. */
static bool record_put_mark(struct thread *thread, uint32_t kind, uint64_t value, const char *text,
			    size_t length, uint64_t spare)
{
	uint64_t words = text ? (length + 7) / 8 : 0, *record;

	if ((shim.gone && !slice_resume(thread)) || !put_preface(thread, thread->under_way))
		return false;
	record = slice_reserve_rarely(thread, 3 + words + spare);
	if (!record)
		return false;
	if (words)
		record[3 + words - 1] = 0;
	if (text)
		memcpy(record + 3, text, length);
	record[0] = RING_WORD0(text ? RING_TEXT : RING_MARK, words, 0, 0, 0, kind);
	record[1] = text ? length : value;
	record[2] = thread->under_way;
	slice_publish(thread, 3 + words);
	return true;
}

static COLD bool put_mark_anywhere(struct thread *thread, uint32_t kind, uint64_t value,
				   const char *text, size_t length, uint64_t spare)
{
	bool put, quiet = thread->quiet;

	thread->quiet = false;
	thread->under_way = stamp_now();
	do {
		thread->moved = false;
		put = record_put_mark(thread, kind, value, text, length, spare);
	} while (!put && thread->moved);
	thread->quiet |= quiet;
	return put;
}

bool record_mark(struct thread *thread, uint32_t kind, uint64_t value, const char *text,
		 size_t length)
{
	return put_mark_anywhere(thread, kind, value, text, length, 0);
}

/* Marks leave half of the reserve to sampled events, however many marks the program puts. */
COLD void record_said(struct thread *thread, uint32_t kind, uint64_t value, const char *text,
		      size_t length)
{
	static const struct event lost = {.kind = RING_MARK};

	if (length > TEXT_MAX)
		length = TEXT_MAX;
	if (!kind || !put_mark_anywhere(thread, kind, value, text, length, thread->spare / 2))
		record_lost(thread, &lost);
}
