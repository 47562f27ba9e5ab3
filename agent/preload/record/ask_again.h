#pragma once
/*
 * If the agent was silent when a program began, the program asks again: after half a second, and
 * then after twice as long each time, up to a minute. Until an agent answers, the program runs
 * unrecorded and its events are only counted (ring_header.before, once it has a ring).
 *
 * Meanwhile an event costs an atomic increment and a look at the coarse clock, which reads no
 * counter of the processor and, where the kernel provides a vdso, makes no system call. Asking
 * costs a few system calls and at most 50 ms, in the hook that finds that it is time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Called when the agent did not answer this process. */
void ask_again_begin(void);
/* Called when the agent has answered, or certainly never will. */
void ask_again_end(void);
/* Counts an event while the process waits for an agent. Returns true if it is time to ask. */
bool ask_again_event(void);
/* Returns true if it is time to ask. */
bool ask_again_due(void);
