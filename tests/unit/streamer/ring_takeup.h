#pragma once
/* A scene of the ring (ring_scene.h) whose agent ends, and another one that takes the ring up. */
#include "tests/unit/streamer/ring_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define COUNT_MAX   (UINT64_C(1) << 56)
#define THREADS_MAX (1u << 20)

static const uint8_t mark[RING_MARK_SIZE];

/* The agent is gone, and another one opens the ring. */
static inline int adopt(struct ring_inheritance *in, const uint8_t *with_mark)
{
	char path[64];
	int lock;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", scene.s.ring->fd);
	lock = open(path, O_RDWR | O_CLOEXEC);
	assert_true(lock >= 0);
	ring_source_close(&scene.s);
	return ring_source_adopt(&scene.s, lock, with_mark, in);
}

/* And goes on with it. */
static inline struct ring_inheritance take_up(struct writer *w, unsigned count)
{
	struct ring_inheritance in;
	ptrdiff_t index[8];

	assert_in_range(count, 0, 8);
	for (unsigned i = 0; i < count; i++)
		index[i] = w[i].slice - scene.s.ring->slices;
	assert_int_equal(adopt(&in, mark), 0);
	for (unsigned i = 0; i < count; i++) {
		w[i].slice = &scene.s.ring->slices[index[i]];
		w[i].data = (uint64_t *)((uint8_t *)header() + w[i].slice->data_offset);
	}
	threads_clear(&scene.threads);
	scene.threads.last_number = in.account.threads;
	memset(scene.thread, 0, sizeof(scene.thread));
	ring_source_begin(&scene.s);
	return in;
}

/* What the stream has taken so far leaves the agent. */
static inline void seal(void)
{
	const struct capture_account account = {
		.watermark_ns = stream_of(BEGIN_NS - 20 * MS),
		.stacks_cut = 2,
		.allocations = 3,
		.frees = 4,
		.bytes = 5,
		.lost = {.events = 60, .allocations = 7, .frees = 8, .bytes = 9},
		.image = 10,
	};

	scene.s.source.ops->seal(&scene.s.source, &account);
}
