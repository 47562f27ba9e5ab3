#pragma once
/*
 * The frame of a hook, for processors on which a frame's address does not lead to the caller:
 * neither the return address nor the caller's registers lie at a known distance from it. The hook
 * stores them in its own frame, and the address of this copy serves as the frame.
 */
#include <stdint.h>

#include "agent/unwind/regs.h"

struct arch_hook {
	uintptr_t pc;
	uintptr_t sp;
	uint64_t fp;
};

/* Expands in the hook itself, so the copy lives as long as the hook's frame. */
#define ARCH_FRAME                                                                                 \
	((uintptr_t) &                                                                             \
	 (struct arch_hook){                                                                       \
		 .pc = (uintptr_t)arch_code_address((uintptr_t)__builtin_return_address(0)),       \
		 .sp = (uintptr_t)__builtin_dwarf_cfa(),                                           \
		 .fp = arch_caller_fp(),                                                           \
	 })

static inline __attribute__((always_inline)) void arch_caller(uintptr_t frame,
							      struct unwind_regs *regs)
{
	const struct arch_hook *hook = (const struct arch_hook *)frame;

	regs->pc = hook->pc;
	regs->sp = hook->sp;
	regs->fp = hook->fp;
	regs->has_saved = false;
}
