#pragma once
/*
 * Cancellation of long work. Any thread may request it, and a deadline may pass. A long-running
 * function calls cancel_check every few milliseconds.
 */
#include <stdatomic.h>
#include <stdint.h>

struct cancel {
	const atomic_bool *asked; /* may be NULL; true requests cancellation */
	uint64_t deadline_ns;	  /* on the clock of cancel_clock_ns; 0 means no deadline */
};

/*
 * Returns nanoseconds of a monotonic clock. The clock is a few milliseconds coarse and costs next
 * to nothing to read.
 */
uint64_t cancel_clock_ns(void);
/*
 * Returns 0 to continue, -ECANCELED if cancellation was requested, or -ETIME if the deadline has
 * passed. `cancel` may be NULL: the work is then never cancelled.
 */
int cancel_check(const struct cancel *cancel);
