#pragma once
/*
 * Stamps of the ring to nanoseconds. A processor's counter is mapped to CLOCK_MONOTONIC by a line
 * whose slope is measured over the agent's life: clock_update, called once a second or so, begins a
 * new piece of the line where the old one is now, and bends it so that it meets the measured time a
 * second later. So the mapping never steps back and its error stays far below a microsecond. Owned
 * by the drain thread.
 *
 * CLOCK_MONOTONIC stands still while the machine sleeps (suspend); a counter goes on, or begins
 * anew. So it is looked for such a leap before a stamp of now is believed (clock_strayed), and the
 * line breaks there: stamps from before the sleep keep the old piece.
 *
 *   ns  | . base before: through the update that was the last before the sleep | ./ break_stamp: in
 *       the middle of the leap, where there are no stamps | ./......' base: through the first
 *       update after it +-----|----|------ stamp
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct clock {
	uint32_t kind; /* enum ring_clock of stamps; MONOTONIC: they are nanoseconds already */
	uint64_t first_stamp, first_ns;
	uint64_t base_stamp, base_ns;
	double slope;	      /* ns per tick */
	double rate;	      /* the slope without the bend */
	uint64_t break_stamp; /* what is below is mapped by the piece `before`; 0: there is none */
	struct {
		uint64_t stamp, ns;
		double slope;
	} before;
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
	uint64_t base_stamp = c->base_stamp, base_ns = c->base_ns;
	double ns, slope = c->slope;

	if (!clock_is_counter(c))
		return stamp;
	if (__builtin_expect(stamp < c->break_stamp, 0)) {
		base_stamp = c->before.stamp;
		base_ns = c->before.ns;
		slope = c->before.slope;
	}
	ns = (double)(int64_t)(stamp - base_stamp) * slope;
	if (ns < -(double)base_ns)
		return 0;
	return ns < 9e18 ? base_ns + (uint64_t)(int64_t)ns : INT64_MAX;
}
/* So many ns as a difference of stamps. */
uint64_t clock_ticks(const struct clock *clock, uint64_t ns);
void clock_update(struct clock *clock);
/* `stamp` was read a moment ago: would it be mapped to the future, or does it lie before what was
 * measured? Then the machine has slept since the last update, and it needs another. */
bool clock_strayed(const struct clock *clock, uint64_t stamp);

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void);
uint64_t
clock_boot_ns(void); /* since the machine started, sleep included: what start_ticks counts from */
/* For how long the machine has slept since it was started: CLOCK_BOOTTIME less CLOCK_MONOTONIC. */
uint64_t clock_slept_ns(void);

/* The processor's counter; one file a processor, chosen in CMake. 0 where there is none. */
uint64_t clock_counter(void);
