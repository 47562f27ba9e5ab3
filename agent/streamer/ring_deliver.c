/* One record of a ring, as the stream takes it: an event, a loss, an epoch, a mark. */
#include "agent/streamer/ring_source.h"

#include <math.h>

#include "agent/streamer/batch.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

/*
 * The bytes that a sampled allocation of `size` stands for: size / p, p = 1 - exp(-size / interval) (Horvitz and Thompson
 * 1952), as whole bytes, which is wrong by at most 1 / (2 interval). An empty one counts as one byte. 0: its own size: it
 * was not sampled, or so large that it always is recorded.
 */
static uint64_t weight_of(uint64_t size, uint64_t interval)
{
	uint64_t mean = interval < RING_INTERVAL_MAX ? interval : RING_INTERVAL_MAX;
	double s = size ? (double)size : 1, r = (double)mean;

	return size < mean && mean > 1 ? (uint64_t)llround(s / -expm1(-s / r)) : 0;
}

static uint64_t new_tick(struct ring_source *s, uint64_t stamp)
{
	uint64_t ns = ring_stream_ns(s, stamp), since = ns % BATCH_TICK_NS;

	s->tick_begin = stamp - since * s->tick_length / BATCH_TICK_NS;
	s->tick_ns = ns - since;
	return s->tick_ns;
}

/* Batches round times down to ticks, so that one answer does for all stamps of a tick. */
static inline uint64_t event_ns(struct ring_source *s, uint64_t stamp)
{
	return stamp - s->tick_begin < s->tick_length ? s->tick_ns : new_tick(s, stamp);
}

static uint64_t call_time(const struct ring_source *s, uint64_t call_stamp, uint64_t stamp)
{
	return call_stamp < stamp ? clock_ns(s->clock, stamp) - clock_ns(s->clock, call_stamp) : 0;
}

/* Every member is named: the compiler would clear the whole struct first, by an instruction that takes 10 ns to begin. */
static int deliver_event(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_record *rec = &l->next;
	uint32_t keep = ring_keep(rec->word0);
	struct ring_event more;
	int r;

	ring_reader_event(&l->reader, rec, &more);
	{
		bool sized = event_traits[rec->kind].sized, moves = rec->class == EVENT_CLASS_REALLOCATION;
		struct capture_event e = {
			.event = {.kind = rec->kind,
				  .class = (enum event_class)rec->class,
				  .thread = 0,
				  .time_ns = event_ns(s, rec->stamp),
				  .address = more.address,
				  .size = sized ? more.size : 0,
				  .stack = 0,
				  .old_address = more.old_address,
				  .call_time_ns = moves ? call_time(s, more.call_stamp, rec->stamp) : 0,
				  .weight = sized && more.interval ? weight_of(more.size, more.interval) : 0},
			.has_stack = keep || rec->count,
			.keep = keep,
			.count = rec->count,
			.pcs = ring_reader_pcs(&l->reader, rec),
			.epoch = l->epoch,
		};

		r = capture_event(stream, index, l->thread, &e);
	}
	l->read += r == 0;
	return r;
}

static int deliver_lost(struct ring_source *s, struct stream *stream, struct ring_lane *l)
{
	struct ring_losses sum = l->announced;
	int r;

	sum.events += l->next.lost.events;
	sum.allocations += l->next.lost.allocations;
	sum.frees += l->next.lost.frees;
	sum.bytes += l->next.lost.bytes;
	r = ring_tell_losses(s, stream, l->thread, &l->gapped, &sum,
			     l->next.stamp <= s->back ? HEAPCAST__REASON__REASON_AGENT_GONE
						      : HEAPCAST__REASON__REASON_RING_FULL,
			     l->last_stamp, l->next.stamp);
	if (!r)
		l->announced = sum;
	return r;
}

static int deliver_mark(struct ring_source *s, struct stream *stream, const struct ring_lane *l)
{
	const struct ring_record *rec = &l->next;
	uint64_t length = rec->value < RING_TEXT_MAX ? rec->value : RING_TEXT_MAX;
	bool text = rec->kind == RING_TEXT;

	ring_reader_words(&l->reader, rec, s->scratch);
	return capture_mark(stream, l->thread, (int)rec->mark, text ? 0 : rec->value,
			    ring_stream_ns(s, rec->stamp), (const uint8_t *)s->scratch,
			    text ? (uint32_t)length : 0);
}

int ring_deliver(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	if (l->cut_awaited)
		return ring_lane_drop(s, stream, index);
	if (l->next.class != EVENT_CLASS_NONE)
		return deliver_event(s, stream, index);
	switch (l->next.kind) {
	case RING_LOST:
		return deliver_lost(s, stream, l);
	case RING_EPOCH:
		l->epoch = (uint32_t)l->next.value;
		return 0;
	case RING_MARK:
	case RING_TEXT:
		return deliver_mark(s, stream, l);
	default:
		return 0; /* RING_CUT of long ago. RING_MOVE: the next slice says itself whose it is */
	}
}
