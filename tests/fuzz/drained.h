#pragma once
/*
 * What an agent makes of a hostile program, for fuzz targets: the stream's batches, each looked at
 * as a collector reads it, until the stream has nothing more to take.
 */
#include "agent/stream/stream.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "tests/fuzz/fuzz.h"

#define DRAINED_TURNS_MAX 1000

static inline void drained_events(const Heapcast__Events *events)
{
	struct events_decoder d;
	struct event event;

	must(!events_decoder_init(&d, events, NULL));
	for (uint32_t i = 0; i < events->count; i++)
		must(events_decoder_next(&d, &event, NULL) == 1);
	must(!events_decoder_next(&d, &event, NULL));
	events_decoder_done(&d);
}

/* `number` is that of the last batch; `more`: what else must hold of one, or NULL. */
static inline void drained_frame(struct frame_decoder *decoder, const uint8_t *frame, size_t length,
				 uint64_t *number, void (*more)(const Heapcast__Batch *batch))
{
	const uint8_t *message;
	size_t size;
	Heapcast__Batch *b;

	must(!frame_decode(decoder, frame, length, &message, &size, NULL));
	b = heapcast__batch__unpack(NULL, size, message);
	must(b && b->ledger && b->number == ++*number);
	if (more)
		more(b);
	if (b->events)
		drained_events(b->events);
	heapcast__batch__free_unpacked(b, NULL);
}

static inline void drained(struct stream *stream, struct frame_decoder *decoder, uint64_t *number,
			   void (*more)(const Heapcast__Batch *batch))
{
	const uint8_t *frame;
	size_t length;

	for (int turn = 0; stream_drain(stream) != STREAM_IDLE; turn++) {
		must(turn < DRAINED_TURNS_MAX);
		for (uint64_t n = stream->spool.acked + 1; n < stream->spool.next; n++) {
			frame = spool_get(&stream->spool, n, &length);
			drained_frame(decoder, frame, length, number, more);
		}
		spool_ack(&stream->spool, stream->spool.next - 1, stream->spool.next - 1);
	}
}
