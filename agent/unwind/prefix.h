#pragma once
/* The capture that walks only what has changed. See prefix.c. */
#include "agent/unwind/walk.h"

void prefix_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);
