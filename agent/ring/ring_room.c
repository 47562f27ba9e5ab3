/* What the program tells the agent in the ring's header, beside its events: that it wants more
 * slices, and what its allocator says. See ring_source.h. */
#include "agent/ring/ring_source.h"

#include "base/ban.h"

enum capture_need ring_need(struct capture_source *source)
{
	struct ring_source *s = (struct ring_source *)source;

	s->wants_seen = ring_acquire32(s->ring->swapped, &s->ring->header->wants);
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
		ring_release32(s->ring->swapped, &s->ring->header->refused, s->wants_seen);
}

/* The answer is guarded by a sequence number, which is odd while the program writes. It is read
 * once, and used only if the number shows that it is complete. */
uint32_t ring_answer(const struct capture_source *source, uint32_t after,
		     struct capture_allocator *ret)
{
	const struct ring_source *s = (const struct ring_source *)source;
	const struct ring_allocator *shared = &s->ring->header->allocator;
	const bool swapped = s->ring->swapped;
	uint32_t sequence = ring_acquire32(swapped, &shared->sequence);
	uint64_t end_ns;

	if (!s->ready || sequence == after || sequence & 1)
		return 0;
	ret->time_ns = ring_stream_ns(s, ring_get64(swapped, &shared->stamp[0]));
	end_ns = ring_stream_ns(s, ring_get64(swapped, &shared->stamp[1]));
	ret->took_ns = ring_grown(end_ns, ret->time_ns);
	for (unsigned i = 0; i < RING_ALLOCATOR_FIGURES; i++)
		ret->figure[i] = ring_get64(swapped, &shared->figure[i]);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ring_get32(swapped, &shared->sequence) == sequence ? sequence : 0;
}
