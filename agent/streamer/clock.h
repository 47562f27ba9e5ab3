#pragma once
/*
 * Stamps of the ring to nanoseconds. A processor's counter is mapped to CLOCK_MONOTONIC by a line whose slope is measured
 * over the agent's life: clock_update, called once a second or so, begins a new piece of the line where the old one is now,
 * and bends it so that it meets the measured time a second later. So the mapping never steps back and its error stays far
 * below a microsecond. Owned by the drain thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct clock {
	uint32_t kind; /* enum ring_clock of stamps; MONOTONIC: they are nanoseconds already */
	uint64_t first_stamp, first_ns;
	uint64_t base_stamp, base_ns;
	double slope; /* ns per tick */
};

/* Measures the slope for some milliseconds. */
void clock_init(struct clock *clock, uint32_t kind);
/* The counter's kind on this machine: enum ring_clock; RING_CLOCK_NONE if there is none to read. */
uint32_t clock_counter_kind(void);
/* Now, as a stamp. */
uint64_t clock_stamp(const struct clock *clock);
static inline bool clock_is_counter(const struct clock *c)
{
	return c->kind == RING_CLOCK_TSC || c->kind == RING_CLOCK_CNTVCT;
}
/* CLOCK_MONOTONIC in ns of a stamp. In here because it is asked at each event. */
static inline uint64_t clock_ns(const struct clock *c, uint64_t stamp)
{
	double ns;

	if (!clock_is_counter(c))
		return stamp;
	ns = (double)(int64_t)(stamp - c->base_stamp) * c->slope;
	if (ns < -(double)c->base_ns)
		return 0;
	return ns < 9e18 ? c->base_ns + (uint64_t)(int64_t)ns : INT64_MAX;
}
/* So many ns as a difference of stamps. */
uint64_t clock_ticks(const struct clock *clock, uint64_t ns);
void clock_update(struct clock *clock);

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void);

/* The processor's counter; one file a processor, chosen in CMake. 0 where there is none. */
uint64_t clock_counter(void);
