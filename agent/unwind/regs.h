#pragma once
/* Where a hook's walk begins. Stands apart from unwind.h because it is code that must be compiled
 * into the hook. */
#include "agent/unwind/unwind.h"

/*
 * The state of the caller of the function this is written in: write it in the hook itself, which
 * must not be inlined and must not be left by a tail call before the capture. The builtins give the
 * hook a frame pointer, which is where the caller's is found (frame record: caller's fp first, on
 * every processor we know).
 *
 * The callee-saved registers are left out: a walk that meets a row in need of them finds them by
 * unwinding the hook's own frame (registers.c), so the hot path does not pay for them. For that the
 * hook's module must be known to find_module.
 */
static inline __attribute__((always_inline)) void unwind_regs_here(struct unwind_regs *ret_regs)
{
	ret_regs->pc =
		(uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
	ret_regs->sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	ret_regs->fp = *(const uint64_t *)__builtin_frame_address(0);
	ret_regs->has_saved = false;
}
