#pragma once
/*
 * Decides whether a thread may wait for the agent, and for how long. All waits for room use this.
 *
 * With the policy RING_BLOCK a thread waits up to block_max_ms at a time, while the agent's
 * heartbeat advances. With RING_THIN all threads of the process share a wait budget in the ring
 * (struct ring_waits): together they wait at most RING_WAIT_MOST_NS in any RING_WAIT_WINDOW_NS. A
 * thread takes a piece from the budget before it waits, and returns the rest that it did not need.
 * If it wakes up late, the delay is charged, too. Real-time threads do not wait with this policy,
 * and no thread waits for an agent whose heartbeat has stopped.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct patience {
	struct ring_header *ring;
	uint32_t policy;
	uint64_t start; /* CLOCK_MONOTONIC at the start of the wait */
	uint64_t now;
	uint64_t taken_ns; /* taken from the budget at `now` for the current piece */
	bool asked;	   /* the thread was found not to be a real-time thread */
	/* The agent's heartbeat as this thread sees it. */
	uint32_t beat;
	uint64_t looked; /* time of the last look; 0: none yet */
	uint64_t silent_ns;
};

/* Called when the thread is about to wait. */
void patience_begin(struct patience *patience, struct ring_header *ring, uint32_t policy);

/* Returns how long the thread may wait now, in microseconds; 0: no longer. Called before each piece
 * of the wait. */
unsigned patience_piece(struct patience *patience);

/* Called when the wait is over. Returns its length in ns. */
uint64_t patience_end(struct patience *patience);
