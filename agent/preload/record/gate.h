#pragma once
/*
 * Gates (`gate`). In a gate a hook finds the ring, or NULL while no event of its kind is recorded
 * (state.h).
 *
 * Orders (mode off, heapcast_stop) may change at any time, by any thread or by the agent. Each
 * change raises a number afterwards (thread_control). A hook that finds its gate shut compares this
 * number with its value when the orders were last found to be off; if it is the same, they are
 * still off. An order to begin therefore takes effect at the next event of the thread that gave it,
 * and of each thread that knows of it. An event that is not recorded costs two or three
 * nanoseconds.
 *
 * The frees of blocks on record take precedence: GATE_OTHERS is shut only while no block is on
 * record, and each event checks this anew. It does no harm if a gate is shut because of outdated
 * knowledge.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Returns true if recording is off by the current orders. */
static inline __attribute__((always_inline)) bool gate_off(const struct ring_header *ring)
{
	return __atomic_load_n(&ring->mode, __ATOMIC_RELAXED) == RING_OFF ||
	       __atomic_load_n(&shim.stopped, __ATOMIC_RELAXED);
}

/* Returns true if any block was ever recorded in this process. */
static inline bool gate_any_on_record(void)
{
	return __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&shim.sampled, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void gate_shut(enum gate gate)
{
	__atomic_store_n(&shim_page.gate[gate], NULL, __ATOMIC_RELAXED);
}
