/* Opens streams whose source is a ring. See ring_stream.h. */
#include "agent/serve/ring_stream.h"

#include <errno.h>
#include <string.h>

#include "base/ban.h"

/* Writes the stream's identity into the ring, for an agent that takes it over. */
static void sign(const struct stream *s, struct ring_account *a)
{
	a->start_ns = s->start_ns;
	a->start_wall_ns = s->start_wall_ns;
	a->pid = (uint32_t)s->target.pid;
	a->start_ticks = s->target.start_ticks;
	a->has_parent = s->has_parent;
	memcpy(a->parent_stream, s->parent_stream, sizeof(a->parent_stream));
	a->parent_event = s->parent_event;
}

int ring_stream_open(struct stream *s, struct ring_source *source, const struct target_info *target,
		     const struct stream_settings *settings, const struct ring_settings *ring)
{
	struct stream_settings of_stream = *settings;
	struct ring_settings of_ring = *ring;
	int r;

	of_stream.mode = ring->mode;
	of_stream.sample_interval = ring->sample_interval;
	of_stream.frees_have_stacks = ring->frees_have_stacks;
	r = stream_prepare(s, target, &of_stream);
	if (r < 0)
		return r;
	memcpy(of_ring.stream, s->id, sizeof(of_ring.stream));
	of_ring.emulated = target_emulated(&s->target);
	r = ring_source_open(source, &of_ring, s->start_ns);
	if (r < 0)
		return r;
	sign(s, &source->ring->header->account);
	stream_begin(s, &source->source, source->incarnation);
	return 0;
}

/* Reads the orders that the program was given. The program may have changed them, so values are
 * checked. */
static void past_orders(const struct ring_memory *ring, struct stream_past *past)
{
	const struct ring_header *h = ring->header;
	uint32_t mode = __atomic_load_n(&h->mode, __ATOMIC_RELAXED);
	uint32_t resume = __atomic_load_n(&h->resume, __ATOMIC_RELAXED);
	uint64_t interval = __atomic_load_n(&h->sample_interval, __ATOMIC_RELAXED);

	mode = mode <= RING_SAMPLE ? mode : RING_FULL;
	past->orders = (struct capture_orders){
		.mode = mode,
		.resume = mode != RING_OFF	  ? mode
			  : resume == RING_SAMPLE ? RING_SAMPLE
						  : RING_FULL,
		.sample_interval = interval < RING_INTERVAL_MAX ? interval : RING_INTERVAL_MAX,
	};
	past->frees_have_stacks = __atomic_load_n(&h->frees_have_stacks, __ATOMIC_RELAXED) != 0;
}

/* Returns what the program reported to the previous agent. */
static struct target_said past_said(const struct ring_memory *ring)
{
	const struct ring_header *h = ring->header;

	return (struct target_said){
		.machine = __atomic_load_n(&h->machine, __ATOMIC_RELAXED),
		.pointer_bits = __atomic_load_n(&h->pointer_bits, __ATOMIC_RELAXED),
		.page_size = __atomic_load_n(&h->page_size, __ATOMIC_RELAXED),
	};
}

static void past_account(const struct ring_inheritance *in, struct stream_past *past)
{
	const struct ring_account *a = &in->account;

	past->account = (struct capture_account){
		.watermark_ns = a->watermark_ns,
		.stacks_cut = a->stacks_cut,
		.allocations = a->delivered[0],
		.frees = a->delivered[1],
		.bytes = a->delivered[2],
		.lost = {in->lost, a->lost.allocations, a->lost.frees, a->lost.bytes},
		.image = a->image,
	};
	past->events = in->delivered;
	past->threads = a->threads;
	past->finished = (struct thread_counts){.produced = in->gone.produced,
						.not_sampled = in->gone.not_sampled,
						.delivered = in->gone.delivered,
						.lost = in->gone.lost};
	past->no_thread = a->no_slice.events;
}

static struct stream_past past_of(const struct ring_source *source,
				  const struct ring_inheritance *in)
{
	const struct ring_account *a = &in->account;
	struct stream_past past = {
		.incarnation = source->incarnation,
		.start_ns = a->start_ns,
		.start_wall_ns = a->start_wall_ns,
		.has_parent = a->has_parent,
		.parent_event = a->parent_event,
		.said = past_said(source->ring),
		.level = source->ring->steps - 1,
	};

	memcpy(past.id, source->ring->header->stream, sizeof(past.id));
	memcpy(past.parent_stream, a->parent_stream, sizeof(past.parent_stream));
	past_orders(source->ring, &past);
	past_account(in, &past);
	return past;
}

int ring_stream_take_up(struct stream *s, struct ring_source *source,
			const struct target_info *target, int lock, const uint8_t *mark,
			const uint8_t *agent_id)
{
	struct ring_inheritance in;
	struct stream_past past;
	int r = ring_source_adopt(source, lock, mark, &in);

	if (r < 0)
		return r;
	past = past_of(source, &in);
	r = in.account.pid == (uint32_t)target->pid && in.account.start_ticks == target->start_ticks
		    ? stream_resume(s, target, &past, agent_id, &source->source)
		    : -ESRCH;
	if (r < 0) {
		ring_source_close(source);
		return r;
	}
	source->emulated = target_emulated(&s->target);
	ring_source_begin(source);
	return 0;
}
