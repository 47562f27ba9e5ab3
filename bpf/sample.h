#pragma once
/*
 * Decides which events are recorded in the stream's mode, by the rule of
 * agent/preload/record/sample.h. Sampling points lie on the bytes that a thread allocates. A block
 * with a point in it is recorded. A block of `interval` bytes or more is always recorded, and
 * consumes no point. A free is recorded if its block was; the map holds these blocks. Blocks
 * recorded in full mode are not in the map (stream->closed): after full mode all frees are
 * recorded.
 */
#include <linux/errno.h>

#include "base/exponential.h"
#include "bpf/put.h"

#define SAMPLE_KIND_REALLOC_FREE 33

/* Returns the counter word for blocks with this hash. */
ARCH_INLINE uint32_t *sample_tally(uint32_t hash)
{
	uint32_t at = hash >> CAPTURE_TALLY_BITS & capture_tally_mask, index = hash / 8;
	struct capture_tally *tally = bpf_map_lookup_elem(&capture_tallies, &at);

	__asm__ volatile("" : "+r"(index)); /* see calls_at */
	return tally ? &tally->word[index % CAPTURE_TALLIES] : NULL;
}

/* Tells whether the block may be a sampled one. False for most blocks, which need no look-up. */
ARCH_INLINE bool sample_may_hold(const struct capture_stream *stream, uint64_t address)
{
	uint32_t hash = capture_tally_hash(address);
	const volatile uint32_t *tally = sample_tally(hash);

	return !stream->closed && tally && *tally >> capture_tally_shift(hash) & 15;
}

/* Removes the block if it is a sampled one, and returns whether it was. A global function, so that
 * the verifier checks it only once. */
__attribute__((noinline)) int sample_end(uint32_t stream_number, uint32_t image, uint64_t address)
{
	struct capture_block block = {.address = address, .stream = stream_number, .image = image};
	uint32_t hash = capture_tally_hash(address), one_less = -(1u << capture_tally_shift(hash)),
		 *tally = sample_tally(hash);

	/* A lookup takes no lock, a deletion does. */
	if (!tally || !bpf_map_lookup_elem(&capture_blocks, &block) ||
	    bpf_map_delete_elem(&capture_blocks, &block))
		return 0;
	__sync_fetch_and_add(tally, one_less);
	return 1;
}

ARCH_INLINE bool sample_take(const struct capture_stream *stream, uint32_t stream_number,
			     uint64_t address)
{
	return address && sample_may_hold(stream, address) &&
	       sample_end(stream_number, stream->image, address);
}

/* Adds the block to the map. Returns false if the map has no room; true also if the block needs no
 * entry. Raises the counter first, so that a thread that frees the block looks in the map. */
ARCH_INLINE bool sample_remember(struct capture_stream *stream, uint32_t stream_number,
				 uint64_t address)
{
	struct capture_block block = {
		.address = address, .stream = stream_number, .image = stream->image};
	uint32_t hash = capture_tally_hash(address), one = 1u << capture_tally_shift(hash),
		 *tally = sample_tally(hash);
	uint64_t value = 1;
	long r;

	if (stream->closed || !tally)
		return true;
	__sync_fetch_and_add(tally, one);
	r = bpf_map_update_elem(&capture_blocks, &block, &value, BPF_NOEXIST);
	if (!r)
		return true;
	__sync_fetch_and_add(tally, -one);
	if (r == -EEXIST)
		return true;
	__sync_fetch_and_add(&stream->refused, 1);
	return false;
}

/* Draws the distance to the next sampling point. A global function, so that the verifier checks it
 * only once. */
__attribute__((noinline)) int sample_draw(uint32_t number)
{
	struct capture_thread *thread = capture_thread_of(number);

	if (thread)
		thread->distance = exponential(&thread->random, thread->interval);
	return 0;
}

/* True if this block has a sampling point in it. */
ARCH_INLINE bool sample_hits(const struct capture_stream *stream, struct capture_thread *thread,
			     uint32_t number)
{
	uint64_t interval = stream->interval ? stream->interval : 1,
		 size = thread->size ? thread->size : 1;

	if (thread->interval != interval) {
		thread->interval = interval;
		sample_draw(number);
	}
	if (size >= interval)
		return true;
	if (size <= thread->distance) {
		thread->distance -= size;
		return false;
	}
	sample_draw(number);
	thread->event_interval = interval;
	return true;
}

ARCH_INLINE bool sample_begins(struct capture_stream *stream, uint32_t stream_number,
			       struct capture_thread *thread, uint32_t number)
{
	if (thread->chosen)
		thread->event_interval = thread->chosen_interval;
	return (thread->chosen || sample_hits(stream, thread, number)) &&
	       sample_remember(stream, stream_number, thread->address);
}

/* Handles the four cases of a reallocation: the old block may be recorded or not, and the new one
 * may be sampled or not. */
ARCH_INLINE bool sample_wants_move(struct capture_stream *stream, uint32_t stream_number,
				   struct capture_thread *thread, uint32_t number)
{
	bool ended = thread->old_address && (thread->was_sampled || stream->closed);

	if (!thread->address) { /* the call failed, and the old block lives on */
		if (thread->was_sampled)
			sample_remember(stream, stream_number, thread->old_address);
		return false;
	}
	if (sample_begins(stream, stream_number, thread, number)) {
		thread->old_address = ended ? thread->old_address : 0;
		return true;
	}
	if (!ended)
		return false;
	thread->kind = SAMPLE_KIND_REALLOC_FREE;
	thread->address = thread->old_address;
	thread->old_address = thread->call_stamp = thread->size = thread->event_interval = 0;
	return true;
}

/* True if the event in `thread` is to be recorded. Changes it to the event that the mode records.
 */
ARCH_INLINE bool sample_wants(struct capture_stream *stream, uint32_t stream_number,
			      struct capture_thread *thread, uint32_t number)
{
	switch (event_class(thread->kind)) {
	case EVENT_CLASS_FREE:
		return stream->closed || thread->was_sampled;
	case EVENT_CLASS_REALLOCATION:
		return sample_wants_move(stream, stream_number, thread, number);
	default:
		return sample_begins(stream, stream_number, thread, number);
	}
}
