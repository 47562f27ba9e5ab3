/* One record of a ring, as the stream takes it: an event, a loss, an epoch, a mark. */
#include "agent/streamer/ring_source.h"

#include <math.h>

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

static uint64_t call_time(const struct ring_source *s, const struct ring_record *rec)
{
	if (rec->class != EVENT_CLASS_REALLOCATION || rec->call_stamp >= rec->stamp)
		return 0;
	return clock_ns(s->clock, rec->stamp) - clock_ns(s->clock, rec->call_stamp);
}

/* Every member is named: the compiler would clear the whole struct first, by an instruction that takes 10 ns to begin. */
static int deliver_event(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_record *rec = &l->next;
	bool sized = event_has_size(rec->kind);
	struct capture_event e = {
		.event = {.kind = rec->kind,
			  .class = rec->class,
			  .thread = 0,
			  .time_ns = ring_stream_ns(s, rec->stamp),
			  .address = rec->address,
			  .size = sized ? rec->size : 0,
			  .stack = 0,
			  .old_address = rec->old_address,
			  .call_time_ns = call_time(s, rec),
			  .weight = sized ? weight_of(rec->size, rec->interval) : 0},
		.has_stack = rec->keep || rec->count,
		.keep = rec->keep,
		.count = rec->count,
		.pcs = s->scratch,
		.epoch = l->epoch,
	};
	int r;

	ring_reader_words(&l->reader, rec, s->scratch);
	r = capture_event(stream, index, l->thread, &e);
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
			     HEAPCAST__REASON__REASON_RING_FULL, l->next.stamp);
	if (!r)
		l->announced = sum;
	return r;
}

static int deliver_mark(struct ring_source *s, struct stream *stream, const struct ring_lane *l)
{
	const struct ring_record *rec = &l->next;
	uint64_t length = rec->address < RING_TEXT_MAX ? rec->address : RING_TEXT_MAX;
	bool text = rec->kind == RING_TEXT;

	ring_reader_words(&l->reader, rec, s->scratch);
	return capture_mark(stream, l->thread, (int)(rec->size & 0xff), text ? 0 : rec->address,
			    ring_stream_ns(s, rec->stamp), (const uint8_t *)s->scratch,
			    text ? (uint32_t)length : 0);
}

int ring_deliver(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	if (l->next.class != EVENT_CLASS_NONE)
		return deliver_event(s, stream, index);
	switch (l->next.kind) {
	case RING_LOST:
		return deliver_lost(s, stream, l);
	case RING_EPOCH:
		l->epoch = (uint32_t)l->next.address;
		return 0;
	case RING_MARK:
	case RING_TEXT:
		return deliver_mark(s, stream, l);
	default:
		return 0; /* RING_MOVE: the next slice says itself whose it is */
	}
}
