#pragma once
/*
 * A program whose agent was silent when it began asks again: after half a second, and each time
 * later after twice as long, up to a minute. Until then it goes on unrecorded, and its events are
 * only counted (ring_header.before, once it has a ring).
 *
 * An event costs an atomic increment then and a look at the coarse clock, which reads no counter of
 * the processor and, where the kernel maps its code, is no system call. To ask costs a few system
 * calls and 50 ms at most, in the hook that finds that it is time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* The agent did not answer this process. */
void wait_begin(void);
/* It did, or somebody said that it never will. */
void wait_end(void);
/* An event, while it is waited for. True: it is time to ask. */
bool wait_event(void);
/* Is it time? */
bool wait_over(void);
