#pragma once
/*
 * The check build (libheapcast-check.so, for tests only). It reads every event back from the ring
 * just after it was recorded, as the agent would, and compares the resulting stack with a full
 * walk. Its counterpart in the shipped library is shipped/observe.h.
 *
 * The hook calls this after each record, while the thread's stack is still as captured. `frame` is
 * the hook's, or 0 if the event has no stack.
 */
#include "agent/preload/record/thread.h"

void observe(struct thread *thread, uintptr_t frame);
