#pragma once
/*
 * Runs the drain thread, one for all rings. It gives each stream a turn (stream_drain), then sleeps
 * on all doorbells with one futex_waitv: at most 20 ms while events arrive, up to 80 ms while none
 * do. One thread serves all rings, so its stack and buffers exist only once. The processor limits
 * the work anyway. Kernels before 5.16 lack futex_waitv: with one ring the thread waits on that
 * ring's futex, with several it polls every 5 ms. While a program can't make system calls
 * (capture_bell.polled), the thread polls each millisecond.
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
	uint64_t delivered; /* events of all streams up to the last turn */
	long wait_ns;
	uint32_t kick;
	uint32_t stop;
	/* Called in the drain thread when a spool or a state has changed. */
	void (*notify)(void *context);
	void *context;
};

/* Starts the thread. Returns 0 or a negative errno. */
int drain_start(struct drain *drain, struct stream *const *streams, uint32_t count,
		struct clock *counter, void (*notify)(void *context), void *context);
/* Wakes the thread, because there may be room or work. Any thread may call it. */
void drain_kick(struct drain *drain);
/* Stops the thread and waits until it has ended. */
void drain_stop(struct drain *drain);
