#pragma once
/*
 * The part of a stream that cull.h and flight.h use: they hold back the stream's events and later
 * send or sum them.
 */
#include "agent/core/stacks.h"
#include "agent/core/threads.h"
#include "agent/hold/sums.h"
#include "proto/event.h"
#include "proto/columns.h"

struct hold_host {
	struct threads *threads;
	const struct stacks *stacks;
	struct sums *sums; /* of events that are not sent */
	/* Puts an event into the open batch and counts it. Returns 0, or -EAGAIN if the batch must
	 * be closed first; then the event stays held. */
	int (*send)(void *context, struct thread *thread, const struct event *event);
	void *context;
};
