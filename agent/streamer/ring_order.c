/* What the header of a ring tells its program: that the agent lives, the mode, that it is to go on without. See ring_source.h. */
#include "agent/streamer/ring_source.h"

#include "agent/streamer/stream.h"
#include "base/ban.h"

#define BACK_NS 1000000000 /* what was lost while we were away is told within this */

void ring_turn(struct capture_source *source, bool away)
{
	struct ring_source *s = (struct ring_source *)source;

	if (away) /* stopped for longer than a program waits: what was lost until now was lost for that */
		s->back = clock_stamp(s->clock) + clock_ticks(s->clock, BACK_NS);
	__atomic_fetch_add(&s->ring->header->heartbeat, 1, __ATOMIC_RELAXED);
}

void ring_begin_image(struct capture_source *source, const struct stream *stream)
{
	struct ring_source *s = (struct ring_source *)source;

	s->ring->header->account.image = stream->image;
	s->ready = false;
}

/* The control line of the ring: what changes first, then the number that says so. */
void ring_obey(struct capture_source *source, const struct stream *stream)
{
	struct ring_header *h = ((struct ring_source *)source)->ring->header;

	__atomic_store_n(&h->sample_interval, stream->sample_interval, __ATOMIC_RELAXED);
	__atomic_store_n(&h->resume, (uint32_t)stream->resume_mode, __ATOMIC_RELAXED);
	__atomic_store_n(&h->mode, (uint32_t)stream->mode, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->control, 1, __ATOMIC_RELEASE);
}

void ring_detach(struct capture_source *source)
{
	struct ring_header *h = ((struct ring_source *)source)->ring->header;

	__atomic_store_n(&h->detached, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&h->control, 1, __ATOMIC_RELEASE); /* each thread looks */
}
