/* One record of a ring, as the stream takes it: an event, a loss, an epoch, a mark. */
#include "agent/streamer/ring_source.h"

#include <math.h>

#include "heapcast.pb-c.h"
#include "base/ban.h"

/* What a sampled allocation of `size` stands for at this interval: 1 / probability, times size (Horvitz-Thompson). */
static uint64_t weight_of(uint64_t size, uint64_t interval)
{
	double s = (double)size, r = (double)interval;

	if (!interval)
		return 0;
	return size ? (uint64_t)llround(s / -expm1(-s / r)) : interval;
}

static int deliver_event(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_record *rec = &l->next;
	struct capture_event e = {
		.kind = rec->kind,
		.has_stack = rec->keep || rec->count,
		.keep = rec->keep,
		.count = rec->count,
		.pcs = s->scratch,
		.epoch = l->epoch,
		.time_ns = ring_stream_ns(s, rec->stamp),
		.address = rec->address,
		.old_address = rec->old_address,
	};
	int r;

	if (event_has_size(rec->kind)) {
		e.size = rec->size;
		e.weight = weight_of(rec->size, rec->interval);
	}
	if (rec->class == EVENT_CLASS_REALLOCATION && rec->call_stamp < rec->stamp)
		e.call_time_ns =
			clock_ns(s->clock, rec->stamp) - clock_ns(s->clock, rec->call_stamp);
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
