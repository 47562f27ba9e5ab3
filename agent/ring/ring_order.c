/* Writes what the agent tells the program into the ring's header: that the agent lives or sleeps,
 * the mode, questions, and the order to continue unrecorded. See ring_source.h. */
#include "agent/ring/ring_source.h"

#include "agent/core/target.h"

#include "base/ban.h"

/* For this long after the agent is back, the program's reports count as losses during its
 * absence. */
#define BACK_NS 1000000000

void ring_turn(struct capture_source *source, bool away)
{
	struct ring_source *s = (struct ring_source *)source;

	/* The agent was stopped for longer than programs wait, so losses until now are due to its
	 * absence. */
	if (away)
		s->back = clock_stamp(s->clock) + clock_ticks(s->clock, BACK_NS);
	__atomic_fetch_add(&s->ring->header->heartbeat, 1, __ATOMIC_RELEASE);
}

void ring_begin_image(struct capture_source *source, uint32_t image,
		      const struct target_info *target)
{
	struct ring_source *s = (struct ring_source *)source;

	s->emulated = target_emulated(target);
	s->ring->header->account.image = image;
	__atomic_store_n(&s->ring->header->filtered, RING_FILTERED_NOT, __ATOMIC_RELAXED);
	s->ready = false;
}

/* Updates the control line of the ring: first the values, then the number that announces the
 * change. */
void ring_obey(struct capture_source *source, const struct capture_orders *orders)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;
	struct ring_header *h = ring->header;

	__atomic_store_n(&h->sample_interval, orders->sample_interval, __ATOMIC_RELAXED);
	__atomic_store_n(&h->resume, orders->resume, __ATOMIC_RELAXED);
	__atomic_store_n(&h->mode, orders->mode, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->control, 1, __ATOMIC_RELEASE);
}

void ring_allow_saved(struct capture_source *source, uint32_t frames)
{
	struct ring_header *h = ((struct ring_source *)source)->ring->header;

	__atomic_store_n(&h->saved_frames_max, frames, __ATOMIC_RELAXED);
}

struct capture_bell ring_sleep(struct capture_source *source)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;
	struct ring_header *h = ring->header;
	struct capture_bell bell = {
		.word = &h->doorbell,
		.value = __atomic_load_n(&h->doorbell, __ATOMIC_ACQUIRE),
		.polled = __atomic_load_n(&h->strict, __ATOMIC_RELAXED) & RING_STRICT_POLLED,
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

	__atomic_fetch_add(&ring->header->allocator.asked, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->header->control, 1, __ATOMIC_RELEASE);
}

void ring_filtered(struct capture_source *source, const struct filters *seen)
{
	struct ring_source *s = (struct ring_source *)source;
	struct ring_header *h = s->ring->header;

	if (!s->ready || s->foreign || __atomic_load_n(&h->filtered, __ATOMIC_RELAXED) ||
	    (seen->count <= __atomic_load_n(&h->filters, __ATOMIC_ACQUIRE) && !seen->strict))
		return;
	ring_source_lift(&h->tick, clock_stamp(s->clock));
	__atomic_store_n(&h->filtered, seen->strict ? RING_FILTERED_STRICT : RING_FILTERED_CALLS,
			 __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->control, 1, __ATOMIC_RELEASE);
}

void ring_detach(struct capture_source *source)
{
	const struct ring_memory *ring = ((struct ring_source *)source)->ring;

	__atomic_store_n(&ring->header->detached, 1, __ATOMIC_RELEASE);
	/* Makes each thread check `detached`. */
	__atomic_fetch_add(&ring->header->control, 1, __ATOMIC_RELEASE);
}
