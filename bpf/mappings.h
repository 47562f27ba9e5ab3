#pragma once
/*
 * Records mmap and related calls of the program itself, by probes on libc's functions. Probes do
 * not slow down other processes; a tracepoint of a system call slows down every system call of
 * every process. Calls from the code of an allocator, libc or the loader are ignored, as in
 * libheapcast.so, and so are calls inside of an allocator's call.
 *
 *	mmap, sbrk up		at the end: stamp, record
 *	munmap			at the entry: stamp, record		(unless it can only fail)
 *	mremap			at the end: one record, which the agent splits in two: the old
 *				range's end, the new one's birth
 *
 * The stamp of a range's end is therefore older than any new mapping at its addresses. Part of
 * capture.bpf.c.
 */
#include "agent/mapping_functions.h"
#include "bpf/calls.h"
#include "bpf/put.h"

#define MAPPINGS_MMAP	   12
#define MAPPINGS_SBRK	   16
#define MAPPINGS_SBRK_BACK 40

/* True for code of an allocator, libc or the loader. A global function, so that the verifier checks
 * it only once. */
__attribute__((noinline)) int mappings_are_theirs(uint32_t stream_number, uint64_t pc)
{
	const struct capture_stream *stream = capture_stream_of(stream_number);

	for (uint32_t i = 0; stream && i < CAPTURE_THEIRS; i++)
		if (pc - stream->theirs[i].start < stream->theirs[i].size)
			return 1;
	return 0;
}

ARCH_INLINE uint64_t mappings_break(const struct capture_stream *stream)
{
	uint64_t now = 0;

	if (stream->break_at)
		bpf_probe_read_user(&now, sizeof(now), (void *)stream->break_at);
	return now;
}

ARCH_INLINE void mappings_put(const struct capture_here *here, uint32_t kind, uint64_t address,
			      uint64_t size)
{
	struct capture_thread *thread = here->thread;

	thread->kind = kind;
	thread->address = address;
	thread->size = size;
	put_event(here->number, here->stream_number);
}

/* Handles the entry of a call whose `word` and later members are set. Returns true if the end of
 * the call must be seen. */
ARCH_INLINE bool mappings_enter(const struct capture_here *here, struct capture_call *call)
{
	const struct capture_stream *stream = here->stream;
	struct capture_thread *thread = here->thread;

	switch (site_shape(call->word)) {
	case SHAPE_UNMAP:
		if (call->old & capture_page_mask || !call->size)
			return false;
		thread->old_address = thread->call_stamp = thread->event_interval = 0;
		mappings_put(here, site_kind(call->word), call->old, call->size);
		return false;
	case SHAPE_SBRK:
		return call->old != 0;
	case SHAPE_BRK:
		call->old = mappings_break(stream);
		return call->old != 0;
	default:
		return true;
	}
}

/* Records that the break has moved from `before` to `after`. */
ARCH_INLINE void mappings_moved(const struct capture_here *here, uint64_t before, uint64_t after)
{
	if (after > before)
		mappings_put(here, MAPPINGS_SBRK, before, after - before);
	else if (after < before)
		mappings_put(here, MAPPINGS_SBRK_BACK, after, before - after);
}

/* Records an mremap as two events in one record. If the old range has no bytes, it stays mapped,
 * and the record is one event. */
ARCH_INLINE void mappings_remapped(const struct capture_here *here, const struct capture_call *call,
				   uint64_t result)
{
	struct capture_thread *thread = here->thread;
	uint64_t lost = thread->lost_allocations;

	thread->old_address = call->old;
	thread->call_stamp = call->stamp;
	thread->event_interval = call->interval;
	mappings_put(here, site_kind(call->word), result, call->size);
	if (!call->interval)
		return;
	thread->produced++;
	if (thread->lost_allocations != lost)
		thread->lost_frees++;
}

ARCH_INLINE void mappings_leave(const struct capture_here *here, const struct capture_call *call,
				uint64_t result)
{
	struct capture_thread *thread = here->thread;

	thread->old_address = thread->call_stamp = thread->event_interval = 0;
	switch (site_shape(call->word)) {
	case SHAPE_MAP:
		if (result < MAPPING_ERRORS)
			mappings_put(here, MAPPINGS_MMAP, result, call->size);
		break;
	case SHAPE_REMAP:
		if (result < MAPPING_ERRORS)
			mappings_remapped(here, call, result);
		break;
	case SHAPE_SBRK:
		if (result < MAPPING_ERRORS)
			mappings_moved(here, result, result + call->old);
		break;
	case SHAPE_BRK:
		mappings_moved(here, call->old, mappings_break(here->stream));
		break;
	}
}
