#pragma once
/* A processor that the shim knows nothing of: time from the kernel's page, frames by the compiler's
 * help. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

/* The relocations by which a module imports functions: not known. */
#define ARCH_JUMP_SLOT 4294967295u
#define ARCH_GLOB_DAT  4294967295u

#define ARCH_CLOCK RING_CLOCK_MONOTONIC

static inline bool arch_clock_usable(void)
{
	return false;
}

static inline uint64_t arch_clock_ordered(void)
{
	return 0;
}

static inline uint64_t arch_clock_single(void)
{
	return 0;
}

/* Saved frame pointer and return address, in this order, as most conventions have them. */
static inline void arch_caller(uintptr_t frame, struct unwind_regs *regs)
{
	const uintptr_t *slot = (const uintptr_t *)frame;

	regs->fp = slot[0];
	regs->pc = slot[1];
	regs->sp = frame + 2 * sizeof(uintptr_t);
	regs->has_saved = false;
}

static inline void arch_pause(void)
{
}

/* Not known here: a hook that an exception has left is found out by the next one (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)

/* Nothing is patched here. */
#define ARCH_LANDING 0u
