#pragma once
/* The capture that walks only what has changed, in any case that may come. See prefix.c; the common
 * case is in quick.c. */
#include "agent/unwind/walk.h"

void prefix_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);

/* The trace has `total` frames, of which the outer `kept` are as before: what the consumer has to
 * be told. */
void prefix_emit(struct unwind_thread *thread, uint32_t kept, uint32_t total, uint32_t depth_limit,
		 struct unwind_delta *ret_delta);

/* The frame, at most `top`, whose own checks include number `check`: the outermost with more than
 * that. */
int prefix_check_owner(const struct unwind_thread *thread, int top, uint32_t check);

/* Reads again what the walk from a frame with these `checks` has read. Number of the first that
 * differs; 0: all hold. */
static inline uint32_t verify(const struct check *checks, uint32_t count)
{
	const struct check *last = checks + count - 1;

#pragma GCC unroll 4
	while (__builtin_expect(arch_load(last->slot) == last->value, 1))
		last--;
	return (uint32_t)(last - checks);
}
