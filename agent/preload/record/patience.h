#pragma once
/*
 * Waiting for the agent: whether a thread may, and for how long. All waits for room go through
 * here.
 *
 * With the policy RING_BLOCK a thread waits up to block_max_ms at a time, while the agent's heart
 * beats. With RING_THIN all threads of the process have one account, in the ring (struct
 * ring_waits): what they wait together is at most RING_WAIT_MOST_NS in any RING_WAIT_WINDOW_NS. A
 * thread takes a piece from it before it waits and gives back what it did not need; what it was
 * late is charged, too. Real-time threads do not wait with that policy, and nobody waits for an
 * agent that shows no life.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct patience {
	struct ring_header *ring;
	uint32_t policy;
	uint64_t start; /* CLOCK_MONOTONIC: of the wait */
	uint64_t now;
	uint64_t taken_ns; /* from the account, at `now`, for the piece under way */
	bool asked;	   /* whether this thread is a real-time one: it is not */
	/* The agent's heart, as this thread sees it. */
	uint32_t beat;
	uint64_t looked; /* when; 0: not yet */
	uint64_t silent_ns;
};

/* The thread is about to wait. */
void patience_begin(struct patience *patience, struct ring_header *ring, uint32_t policy);

/* How long it may wait now, in microseconds; 0: no longer. Called before each piece of the wait. */
unsigned patience_piece(struct patience *patience);

/* It waits no more: how long it has waited, ns. */
uint64_t patience_end(struct patience *patience);
