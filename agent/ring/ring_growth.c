/* Reads what the program writes into the ring's header beside its events: the wish for more slices,
 * and the allocator's answer. See ring_source.h. */
#include "agent/ring/ring_source.h"

#include "base/ban.h"

enum capture_need ring_need(struct capture_source *source)
{
	struct ring_source *s = (struct ring_source *)source;

	s->wants_seen = __atomic_load_n(&s->ring->header->wants, __ATOMIC_ACQUIRE);
	return s->active_count >= s->ring->slice_count	     ? CAPTURE_MUST
	       : s->active_count + 1 >= s->ring->slice_count ? CAPTURE_WISHES
	       : s->wants_seen != s->wants_heard	     ? CAPTURE_WISHES
							     : CAPTURE_ENOUGH;
}

int ring_grow(struct capture_source *source, uint32_t level)
{
	struct ring_source *s = (struct ring_source *)source;

	/* A ring that was taken over may have these steps already. */
	return s->ring->steps > level ? 0 : ring_memory_back(s->ring, s->shape);
}

void ring_hear_wants(struct capture_source *source, bool refused)
{
	struct ring_source *s = (struct ring_source *)source;

	s->wants_heard = s->wants_seen;
	if (refused)
		__atomic_store_n(&s->ring->header->refused, s->wants_seen, __ATOMIC_RELEASE);
}

/* Reads the allocator's answer. A sequence number guards it, which is odd while the program writes.
 * The answer is read once, and used only if the number shows that it is complete. */
uint32_t ring_answer(const struct capture_source *source, uint32_t after,
		     struct capture_allocator *ret)
{
	const struct ring_source *s = (const struct ring_source *)source;
	const struct ring_allocator *shared = &s->ring->header->allocator;
	uint32_t sequence = __atomic_load_n(&shared->sequence, __ATOMIC_ACQUIRE);
	uint64_t end_ns;

	if (!s->ready || sequence == after || sequence & 1)
		return 0;
	ret->time_ns = ring_stream_ns(s, __atomic_load_n(&shared->stamp[0], __ATOMIC_RELAXED));
	end_ns = ring_stream_ns(s, __atomic_load_n(&shared->stamp[1], __ATOMIC_RELAXED));
	ret->took_ns = ring_grown(end_ns, ret->time_ns);
	for (unsigned i = 0; i < RING_ALLOCATOR_FIGURES; i++)
		ret->figure[i] = __atomic_load_n(&shared->figure[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&shared->sequence, __ATOMIC_RELAXED) == sequence ? sequence : 0;
}
