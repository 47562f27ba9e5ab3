/* What the agent tells the program in the ring's header: that the agent lives or sleeps, the mode,
 * what it wants to know, and to continue unrecorded. See ring_source.h. */
#include "agent/ring/ring_source.h"

#include "agent/core/target.h"

#include "base/ban.h"

/* Within this time the program reports what it lost while the agent was away. */
#define BACK_NS 1000000000

void ring_turn(struct capture_source *source, bool away)
{
	struct ring_source *s = (struct ring_source *)source;

	/* The agent was stopped for longer than programs wait, so losses until now are due to its
	 * absence. */
	if (away)
		s->back = clock_stamp(s->clock) + clock_ticks(s->clock, BACK_NS);
	ring_raise32(s->ring->swapped, &s->ring->header->heartbeat);
}

void ring_begin_image(struct capture_source *source, uint32_t image,
		      const struct target_info *target)
{
	struct ring_source *s = (struct ring_source *)source;

	s->emulated = target_emulated(target);
	s->ring->header->account.image = image;
	ring_put32(s->ring->swapped, &s->ring->header->filtered, RING_FILTERED_NOT);
	s->ready = false;
}

/* Updates the control line of the ring: first the values, then the number that announces the
 * change. */
void ring_obey(struct capture_source *source, const struct capture_orders *orders)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;
	struct ring_header *h = ring->header;

	ring_put64(ring->swapped, &h->sample_interval, orders->sample_interval);
	ring_put32(ring->swapped, &h->resume, orders->resume);
	ring_put32(ring->swapped, &h->mode, orders->mode);
	ring_raise32(ring->swapped, &h->control);
}

struct capture_bell ring_sleep(struct capture_source *source)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;
	struct ring_header *h = ring->header;
	struct capture_bell bell = {
		.word = &h->doorbell,
		.value = __atomic_load_n(&h->doorbell, __ATOMIC_ACQUIRE),
		.polled = ring_get32(ring->swapped, &h->strict) & RING_STRICT_POLLED,
	};

	__atomic_store_n(&h->sleeping, 1, __ATOMIC_SEQ_CST);
	return bell;
}

void ring_wake(struct capture_source *source)
{
	struct ring_header *h = ((struct ring_source *)source)->ring->header;

	__atomic_store_n(&h->sleeping, 0, __ATOMIC_RELAXED);
}

void ring_ask(struct capture_source *source)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;

	ring_raise32(ring->swapped, &ring->header->allocator.asked);
	ring_raise32(ring->swapped, &ring->header->control);
}

void ring_filtered(struct capture_source *source, const struct filters *seen)
{
	struct ring_source *s = (struct ring_source *)source;
	struct ring_header *h = s->ring->header;
	const bool swapped = s->ring->swapped;

	if (!s->ready || s->foreign || ring_get32(swapped, &h->filtered) ||
	    (seen->count <= ring_acquire32(swapped, &h->filters) && !seen->strict))
		return;
	ring_lift64(swapped, &h->tick, clock_stamp(s->clock));
	ring_put32(swapped, &h->filtered,
		   seen->strict ? RING_FILTERED_STRICT : RING_FILTERED_CALLS);
	ring_raise32(swapped, &h->control);
}

void ring_detach(struct capture_source *source)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;

	ring_release32(ring->swapped, &ring->header->detached, 1);
	/* Makes each thread check `detached`. */
	ring_raise32(ring->swapped, &ring->header->control);
}
