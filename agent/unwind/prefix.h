#pragma once
/* The capture that walks only the changed part of a stack, for all cases. See prefix.c; quick.c
 * handles the common case. */
#include "agent/unwind/walk.h"

void prefix_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);

/* Emits a trace of `total` frames whose outer `kept` frames are unchanged: computes the delta that
 * the consumer must get. */
void prefix_emit(struct unwind_thread *thread, uint32_t kept, uint32_t total, uint32_t depth_limit,
		 struct unwind_delta *ret_delta);

/* Returns the frame whose own checks include number `check`: the outermost frame, up to `top`, with
 * more than `check` checks. */
int prefix_check_owner(const struct unwind_thread *thread, int top, uint32_t check);

/* Re-reads the slots that the walk from a frame with these `checks` has read. Returns the number of
 * the first check that differs, or 0 if all hold. */
static inline uint32_t verify(const struct check *checks, uint32_t count)
{
	const struct check *last = checks + count - 1;

#pragma GCC unroll 4
	while (__builtin_expect(arch_load(last->slot) == last->value, 1))
		last--;
	return (uint32_t)(last - checks);
}
