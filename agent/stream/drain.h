#pragma once
/*
 * The drain thread: one for all rings. It gives each stream a turn (stream_drain), then sleeps on
 * all doorbells at once with futex_waitv: 20 ms at most while events come, up to 80 ms while none
 * do. One thread, not one a ring: its stack and its buffers are paid once, and what it does is
 * bounded by the processor anyway. Kernels before 5.16 have no futex_waitv: with one ring the
 * thread waits on that ring's futex, with several it looks every 5 ms. While a program forbids
 * itself system calls (ring_polled) it looks each millisecond.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/clock.h"
#include "agent/stream/stream.h"

struct drain {
	pthread_t thread;
	bool running;
	struct stream *const *stream;
	uint32_t streams;
	struct clock *counter;
	uint64_t delivered; /* events of all streams, as of the last turn */
	long wait_ns;
	uint32_t kick;
	uint32_t stop;
	void (*notify)(void *context); /* in the drain thread: a spool or a state has changed */
	void *context;
};

/* Starts the thread. 0 or a negative errno. */
int drain_start(struct drain *drain, struct stream *const *streams, uint32_t count,
		struct clock *counter, void (*notify)(void *context), void *context);
/* There may be room or work again. From any thread. */
void drain_kick(struct drain *drain);
void drain_stop(struct drain *drain);
