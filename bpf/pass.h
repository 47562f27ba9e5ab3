#pragma once
/*
 * Events that are not sampled, which is nearly all: they are counted, and nothing is to be known of
 * them. Who asks the kernel which thread it is in pays for that as much as for all the rest (a call
 * of the kernel's: 19 of 40 ns, measured on a processor whose returns are guarded). So here the
 * thread is guessed, by the page that its stack pointer is in. A guess is wrong where a program
 * runs its threads on stacks in turn, or uses one again: then one thread's event counts as
 * another's, and a point of the sampling is at another place, just as random. No event is lost:
 * `passed` is added to as a whole. What is more than to count needs the thread that it is.
 */
#include "bpf/calls.h"
#include "bpf/sample.h"

#define PASS_PAGE_SHIFT 12
/* above the thread's number: a stream has no more than RING_SLICES_MAX */
#define PASS_TID_SHIFT 16
#define PASS_TAG_SHIFT 28

ARCH_INLINE uint64_t *pass_page_at(uint64_t sp)
{
	uint32_t at = (uint32_t)((sp >> PASS_PAGE_SHIFT) * 0x9e3779b97f4a7c15ull >> 56);

	return bpf_map_lookup_elem(&capture_pages, &at);
}

/* Its place may be another thread's by now: so the thread is part of it. */
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

/* Where this program most likely runs, if a thread that samples is in no other call there. */
ARCH_INLINE bool pass_guess(struct capture_here *here, uint64_t sp)
{
	struct capture_stream *stream;
	struct capture_thread *thread;
	uint64_t *page, known;

	here->stream_number = capture_alone - 1;
	stream = capture_stream_of(here->stream_number); /* no such, of none */
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

/* The end of a block, most likely of one that is not on record. */
ARCH_INLINE bool pass_end(const struct capture_here *here, uint64_t block)
{
	if (!block)
		return true;
	if (here->stream->closed || sample_may_hold(here->stream, block))
		return false;
	pass_count(here->thread);
	return true;
}

/* An allocation without a point in it. (Where it has one, the thread that it is will come to the
 * same: it has passed none.) */
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
