#pragma once
/* What the tests of taking up share: an agent that is killed, and the next one. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define BOTH_READ 3 /* events of each thread that the first agent has sent */

/* A descriptor of the ring that nobody else has, as /proc/PID/map_files gives one. */
static inline int open_again(const struct bench *b)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->ring.ring->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The agent is killed: what it had in memory is gone. */
static inline int kill_agent(struct bench *b)
{
	int fd = open_again(b);

	assert_int_equal(ring_memory_lock(fd), -EWOULDBLOCK); /* it lives */
	stream_close(&b->stream);
	assert_int_equal(ring_memory_lock(fd), 0);
	return fd;
}

static inline int take_up(struct bench *b, int fd)
{
	struct target_info target;

	assert_int_equal(target_read(getpid(), &target), 0);
	return ring_stream_take_up(&b->stream, &b->ring, &target, fd,
				   (const uint8_t[RING_MARK_SIZE]){0}, b->agent_id);
}

/* The writer's view of the ring that another agent has mapped. */
static inline void writer_again(struct bench *b, struct writer *w, uint32_t index)
{
	struct ring_memory *ring = b->ring.ring;
	struct ring_slice *slice = ring->slices;

	while (slice->words < RING_FIRST_WORDS)
		slice++;
	w->slice = slice + index;
	w->data = (uint64_t *)((uint8_t *)ring->header + w->slice->data_offset);
}

static inline void writer_restart(struct writer *w, uint32_t incarnation)
{
	const struct ring_losses *lost = &w->slice->lost;

	writer_pad(w, 8);
	writer_word(w, RING_RESTART);
	writer_word(w, incarnation);
	writer_word(w, now());
	writer_word(w, w->slice->events);
	writer_word(w, lost->events);
	writer_word(w, lost->allocations);
	writer_word(w, lost->frees);
	writer_word(w, lost->bytes);
	writer_publish(w);
}

/* So many mallocs, the first with its stack in full. */
static inline void write_events(struct writer *w, unsigned count, uint64_t address)
{
	uint64_t pcs[] = {100003, 100002, 100001};

	for (unsigned i = 0; i < count; i++)
		writer_event(w, HEAPCAST__EVENT_KIND__EVENT_MALLOC, address + i * 16, 8, now(),
			     i ? 3 : 0, i ? 0 : 3, pcs);
}

/* Reads what there is, and closes the batch. */
static inline void settle_batch(struct bench *b)
{
	usleep(1000);
	bench_drain(b, false);
	b->stream.batch.opened_ns = 1;
	bench_drain(b, false);
}

static inline Heapcast__Batch *last_batch(struct bench *b)
{
	return bench_batch(b, b->stream.spool.next - 1);
}

static inline const Heapcast__Gap *gap_of(const Heapcast__Batch *batch, uint32_t thread)
{
	for (size_t i = 0; i < batch->n_gap; i++)
		if (batch->gap[i]->thread == thread)
			return batch->gap[i];
	fail_msg("no gap of thread %u", thread);
	return NULL;
}

static inline void begin(struct bench *b, struct writer *w, unsigned threads)
{
	bench_open(b);
	for (unsigned i = 0; i < threads; i++) {
		w[i] = writer_claim(b, i, 1000 + i);
		w[i].slice->incarnation = 1;
		write_events(&w[i], BOTH_READ, 4096 * (i + 1));
	}
	settle_batch(b);
	assert_int_equal(b->stream.delivered.events, BOTH_READ * threads);
}
