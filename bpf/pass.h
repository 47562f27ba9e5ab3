#pragma once
/*
 * Counts events that are not sampled, which are nearly all. Asking the kernel for the current
 * thread costs as much as all the rest (a helper call: 19 of 40 ns, measured on a processor with
 * guarded returns). This code therefore guesses the thread from the page of its stack pointer. The
 * guess is wrong if a program reuses a stack or runs several threads on one stack in turn. An event
 * of one thread then counts as another's, and a sampling point moves to another place that is just
 * as random. No event is lost: `passed` is incremented atomically. All work other than counting
 * needs the actual thread.
 */
#include "bpf/calls.h"
#include "bpf/sample.h"

#define PASS_PAGE_SHIFT 12
/* The tid lies above the number of the thread's place: a stream has at most RING_SLICES_MAX. */
#define PASS_TID_SHIFT 16
#define PASS_TAG_SHIFT 28

ARCH_INLINE uint64_t *pass_page_at(uint64_t sp)
{
	uint32_t at = (uint32_t)((sp >> PASS_PAGE_SHIFT) * 0x9e3779b97f4a7c15ull >> 56);

	return bpf_map_lookup_elem(&capture_pages, &at);
}

/* Returns the value for a page. It contains the thread, because the place may belong to another
 * thread later. */
ARCH_INLINE uint64_t pass_page(uint64_t sp, uint32_t tid, uint32_t number)
{
	return sp >> PASS_PAGE_SHIFT << PASS_TAG_SHIFT |
	       (uint64_t)(tid << 20 >> 20) << PASS_TID_SHIFT | number;
}

ARCH_INLINE void pass_learn(const struct capture_here *here, uint64_t sp)
{
	uint64_t *page = capture_alone && here->thread ? pass_page_at(sp) : NULL, known;

	if (!page)
		return;
	known = pass_page(sp, here->thread->tid, here->number);
	if (*page != known)
		*page = known;
}

/* Guesses where this program runs. Succeeds only for a thread in sampling mode that is in no other
 * call. */
ARCH_INLINE bool pass_guess(struct capture_here *here, uint64_t sp)
{
	struct capture_stream *stream;
	struct capture_thread *thread;
	uint64_t *page, known;

	here->stream_number = capture_alone - 1;
	stream = capture_stream_of(here->stream_number); /* fails if capture_alone is 0 */
	if (!stream || !stream->ready || stream->mode != CAPTURE_SAMPLE)
		return false;
	page = pass_page_at(sp);
	known = page ? *(volatile uint64_t *)page : 0;
	here->number = known & ((1u << PASS_TID_SHIFT) - 1);
	thread = capture_thread_of(here->number);
	if (!thread || thread->state != CAPTURE_THREAD_USED ||
	    thread->stream != here->stream_number || thread->depth ||
	    pass_page(sp, thread->tid, here->number) != known)
		return false;
	here->stream = stream;
	here->thread = thread;
	return true;
}

ARCH_INLINE void pass_count(struct capture_thread *thread)
{
	__sync_fetch_and_add(&thread->passed, 1);
}

/* Counts the end of a block that is most likely not recorded. */
ARCH_INLINE bool pass_end(const struct capture_here *here, uint64_t block)
{
	if (!block)
		return true;
	if (here->stream->closed || sample_may_hold(here->stream, block))
		return false;
	pass_count(here->thread);
	return true;
}

/* Counts an allocation without a sampling point. Returns false if it has one; nothing was consumed
 * then, so the exact path finds the same point. */
ARCH_INLINE bool pass_allocation(const struct capture_here *here, uint64_t size)
{
	uint64_t interval = here->stream->interval, distance = here->thread->distance;

	size = size ? size : 1;
	if (here->thread->interval != interval || size >= interval || size > distance)
		return false;
	here->thread->distance = distance - size;
	pass_count(here->thread);
	return true;
}
