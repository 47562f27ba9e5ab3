#pragma once
/*
 * Gates: where a hook finds the ring, or that nothing which comes this way is recorded now
 * (state.h).
 *
 * Orders (mode off, heapcast_stop) may change at any time, from any thread or from the agent; who
 * changes them raises a number afterwards (thread_control). Whoever finds the gate shut looks at
 * that number: the same as when the orders were last found to be off: they are still. So an order
 * to begin holds for the very next event of the thread that gave it, and of each that knows of it,
 * and an event that is not recorded costs two or three nanoseconds.
 *
 * That the end of each block on record is recorded goes before: GATE_ALL is shut only while there
 * is none, and that, too, is looked at anew by each event. So a gate that is shut out of older
 * knowledge does no harm.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Orders as they are now. */
static inline __attribute__((always_inline)) bool gate_off(const struct ring_header *ring)
{
	return __atomic_load_n(&ring->mode, __ATOMIC_RELAXED) == RING_OFF ||
	       __atomic_load_n(&shim.stopped, __ATOMIC_RELAXED);
}

/* Was anything ever recorded in this process? */
static inline bool gate_any_on_record(void)
{
	return __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&shim.sampled, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void gate_shut(enum gate gate)
{
	__atomic_store_n(&shim_page.gate[gate], NULL, __ATOMIC_RELAXED);
}
