#pragma once
/*
 * The check build (libheapcast-check.so, for tests only): every event that was just recorded is
 * read back from the ring as the agent would read it, and the stack that results is compared with a
 * walk in full. Its counterpart in the shipped library is shipped/observe.h.
 *
 * Called behind each record, in its hook: the thread's stack is still what was captured. `frame` is
 * the hook's; 0: the event has no stack.
 */
#include "agent/preload/record/thread.h"

void observe(struct thread *thread, uintptr_t frame);
