#pragma once
/*
 * Converts stamps of the ring to nanoseconds. A line maps a processor's counter to CLOCK_MONOTONIC.
 * Its slope is measured over the agent's whole life. clock_update, called about once a second,
 * starts a new piece of the line where the old piece is now, and bends it so that it meets the
 * measured time one second later. So the mapping never steps back, and its error stays far below a
 * microsecond. The drain thread owns the clock.
 *
 * CLOCK_MONOTONIC stops while the machine sleeps (suspend); a counter continues or restarts. So the
 * agent checks for such a leap before it trusts a stamp of now (clock_strayed), and the line breaks
 * at the leap: stamps from before the sleep still use the old piece.
 *
 *   ns  |              . base     before: through the last update before the sleep
 *       |           ./            break_stamp: in the middle of the leap, where no stamps are
 *       |  ./......'              base: through the first update after the sleep
 *       +-----|----|------ stamp
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct clock {
	/* enum ring_clock of the stamps. With RING_CLOCK_MONOTONIC they already are nanoseconds. */
	uint32_t kind;
	uint64_t first_stamp, first_ns;
	uint64_t base_stamp, base_ns;
	double slope;	      /* ns per tick */
	double rate;	      /* the slope without the bend */
	uint64_t break_stamp; /* the piece `before` maps stamps below this one; 0: no break */
	struct {
		uint64_t stamp, ns;
		double slope;
	} before;
};

/* Measures the slope, which takes some milliseconds. Sleeps meanwhile. */
void clock_init(struct clock *clock, uint32_t kind);
/* Returns the kind of this machine's counter (enum ring_clock), or RING_CLOCK_NONE if it has no
 * usable counter. */
uint32_t clock_counter_kind(void);
/* Returns the current time as a stamp. */
uint64_t clock_stamp(const struct clock *clock);
static inline bool clock_is_counter(const struct clock *c)
{
	return c->kind == RING_CLOCK_TSC || c->kind == RING_CLOCK_CNTVCT;
}
/* Converts a stamp to CLOCK_MONOTONIC in ns. Inline because it runs for every event. */
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
/* Converts a duration in ns to a difference of stamps. */
uint64_t clock_ticks(const struct clock *clock, uint64_t ns);
/* Measures the time and begins a new piece of the line. Call it about once a second. */
void clock_update(struct clock *clock);
/* Returns true if the line maps `stamp`, which was read a moment ago, to the future, or if it lies
 * before the last measurement. Then the machine has slept since the last update, and the clock
 * needs a clock_update. */
bool clock_strayed(const struct clock *clock, uint64_t stamp);

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void);
/* Returns the time since boot in ns, including sleep. `start_ticks` counts from the same point. */
uint64_t clock_boot_ns(void);
/* Returns how long the machine has slept since boot, in ns: CLOCK_BOOTTIME minus
 * CLOCK_MONOTONIC. */
uint64_t clock_slept_ns(void);

/* Reads the processor's counter. CMake chooses one file per processor. clock_none.c returns
 * clock_monotonic_ns instead. */
uint64_t clock_counter(void);
