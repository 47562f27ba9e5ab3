#pragma once
/* Numbered stacks: what was walked and sent before is only verified. See recall.c. */
#include "agent/unwind/thread.h"

/* Returns 1 + the number of the stack that begins at `regs`, or 0 if it has none. */
uint32_t recall_find(struct unwind_thread *thread, const struct unwind_regs *regs,
		     uint32_t depth_limit);
/* Called with a stack that has no number. Returns true if it was captured not long ago, so that a
 * number for it is likely to pay. */
bool recall_recurs(struct unwind_thread *thread, const uint64_t *pcs, uint32_t depth);
