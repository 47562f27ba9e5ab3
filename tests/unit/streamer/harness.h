#pragma once
/*
 * What the tests of the streamer share: a stream in a small arena, and a writer that fills its ring
 * by hand, as a program would (stamps are CLOCK_MONOTONIC), and as it should not.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/serve/ring_stream.h"
#include "base/error.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/frame.h"

#define TEST_LIMIT (2u << 20)
#define OWNER_DIED 0x40000000u

static inline uint64_t now(void)
{
	return clock_monotonic_ns();
}

struct bench {
	struct budget budget;
	struct arena arena;
	struct packer packer;
	struct clock clock;
	struct stream stream;
	struct ring_source ring;
	uint8_t agent_id[STREAM_ID_SIZE];
	struct frame_decoder *decoder;
};

/* Opens the stream of this process in a place that was made. */
static inline void bench_begin(struct bench *b, uint32_t depth)
{
	struct stream_settings settings = {.agent_id = b->agent_id};
	struct ring_settings ring = {.mode = RING_FULL, .depth_limit = depth};
	struct target_info target;

	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(ring_stream_open(&b->stream, &b->ring, &target, &settings, &ring), 0);
	b->ring.ring->header->byte_order = 0x01020304;
	b->ring.ring->header->clock = RING_CLOCK_MONOTONIC;
	b->decoder = frame_decoder_new();
	assert_non_null(b->decoder);
}

/* Of `cull` and `flight` one at most is not NULL. */
static inline void bench_open_holding(struct bench *b, const struct cull_settings *cull,
				      const struct flight_settings *flight)
{
	size_t memory = cull && cull->memory	   ? cull->memory
			: flight && flight->memory ? flight->memory
						   : TEST_LIMIT / 4;
	struct err_text err;

	if (cull || flight)
		assert_int_equal(budget_divide_holding(&b->budget, 2 * TEST_LIMIT, 1, memory,
						       "culling", &err),
				 0);
	else
		assert_int_equal(budget_divide(&b->budget, TEST_LIMIT, 1, &err), 0);
	assert_int_equal(arena_open(&b->arena, budget_private(&b->budget) + 65536), 0);
	assert_int_equal(packer_init(&b->packer, &b->arena, b->budget.message, b->budget.scratch),
			 0);
	b->clock = (struct clock){.kind = RING_CLOCK_MONOTONIC, .slope = 1};
	assert_int_equal(ring_source_init(&b->ring, &b->arena, &b->budget.shape, &b->clock), 0);
	assert_int_equal(stream_init(&b->stream, &b->arena, &b->budget, 64, &b->packer), 0);
	if (cull)
		assert_int_equal(stream_use_culling(&b->stream, &b->arena, &b->budget, cull), 0);
	if (flight)
		assert_int_equal(stream_use_flight(&b->stream, &b->arena, &b->budget, flight), 0);
	bench_begin(b, 64);
}

static inline void bench_open_culling(struct bench *b, const struct cull_settings *cull)
{
	bench_open_holding(b, cull, NULL);
}

static inline void bench_open(struct bench *b)
{
	bench_open_holding(b, NULL, NULL);
}

static inline void bench_close(struct bench *b)
{
	stream_done(&b->stream);
	packer_done(&b->packer);
	frame_decoder_free(b->decoder);
	arena_close(&b->arena);
}

/* The batch with this number, as a collector reads it. */
static inline Heapcast__Batch *bench_batch(struct bench *b, uint64_t number)
{
	const uint8_t *frame, *message;
	size_t length = 0, size;
	struct err_text err = {{0}};
	Heapcast__Batch *batch;

	frame = spool_get(&b->stream.spool, number, &length);
	assert_non_null(frame);
	assert_int_equal(frame_decode(b->decoder, frame, length, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	return batch;
}

static inline void assert_balanced(const Heapcast__Ledger *l)
{
	assert_non_null(l);
	assert_int_equal(l->produced,
			 l->delivered + l->culled + l->not_sampled + l->lost + l->pending);
}

/* All events of the stream's batches, in order, at most `most`. Every ledger must balance. */
static inline unsigned bench_events(struct bench *b, struct event *out, unsigned most)
{
	unsigned n = 0;

	for (uint64_t i = b->stream.spool.first; i < b->stream.spool.next; i++) {
		Heapcast__Batch *batch = bench_batch(b, i);
		struct events_decoder d;
		struct err_text err = {{0}};

		assert_balanced(batch->ledger);
		if (batch->events) {
			assert_int_equal(events_decoder_init(&d, batch->events, &err), 0);
			while (n < most && events_decoder_next(&d, &out[n], &err) == 1)
				n++;
			assert_string_equal(err.text, "");
			events_decoder_done(&d);
		}
		heapcast__batch__free_unpacked(batch, NULL);
	}
	return n;
}

struct writer {
	struct ring_slice *slice;
	uint64_t *data;
	uint64_t words;
	uint64_t head; /* not published until writer_publish */
};

/* A slice of the size that threads begin in; `index` counts those and larger ones. */
static inline struct writer writer_claim(struct bench *b, uint32_t index, uint32_t tid)
{
	struct ring_memory *ring = b->ring.ring;
	struct ring_slice *slice = ring->slices;

	while (slice->words < RING_FIRST_WORDS)
		slice++;
	slice += index;

	assert_int_equal(slice->state, RING_SLICE_FREE);
	slice->owner_tid = tid;
	slice->claim_stamp = clock_monotonic_ns();
	memcpy(slice->owner, &tid, sizeof(tid));
	__atomic_store_n(&slice->state, RING_SLICE_OWNED, __ATOMIC_RELEASE);
	ring->header->claims++;
	return (struct writer){.slice = slice,
			       .data = (uint64_t *)((uint8_t *)ring->header + slice->data_offset),
			       .words = slice->words,
			       .head = slice->head};
}

static inline void writer_word(struct writer *w, uint64_t word)
{
	w->data[w->head++ & (w->words - 1)] = word;
}

static inline void writer_pad(struct writer *w, uint32_t words)
{
	uint64_t left = w->words - (w->head & (w->words - 1));

	if (left >= words)
		return;
	w->data[w->head & (w->words - 1)] = RING_PAD;
	w->head += left;
}

static inline void writer_publish(struct writer *w)
{
	__atomic_store_n(&w->slice->head, w->head, __ATOMIC_RELEASE);
}

/* An event with `count` new frames pcs[0..], innermost first. */
static inline void writer_event(struct writer *w, unsigned kind, uint64_t address, uint32_t size,
				uint64_t stamp, unsigned keep, unsigned count, const uint64_t *pcs)
{
	w->slice->events++;
	writer_pad(w, 3 + count);
	writer_word(w, RING_WORD0(kind, count, keep, 0, 0, size));
	writer_word(w, address);
	writer_word(w, stamp);
	for (unsigned i = 0; i < count; i++)
		writer_word(w, pcs[i]);
	writer_publish(w);
}

static inline void writer_die(struct writer *w)
{
	uint32_t word = OWNER_DIED;

	memcpy(w->slice->owner, &word, sizeof(word));
}

/* Drains until nothing is left to do; ends the process if `end`. */
static inline void bench_drain(struct bench *b, bool end)
{
	struct target_end how = {.kind = HEAPCAST__END_KIND__END_EXITED, .status = 3};

	if (end)
		stream_end(&b->stream, &how);
	for (int i = 0; i < 100 && stream_drain(&b->stream) == STREAM_MORE; i++)
		;
}
