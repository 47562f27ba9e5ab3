#pragma once
/* Where a hook's walk begins. Stands apart from unwind.h because it is code that must be compiled
 * into the hook. */
#include "agent/unwind/unwind.h"
#include "arch_here.h"

/*
 * The state of the caller of the function this is written in: write it in the hook itself, which
 * must not be inlined and must not be left by a tail call before the capture. Where frames have a
 * record (ARCH_RECORD) the builtins give the hook one, and the caller's fp is found there; else it
 * is in its register, as the hook is compiled without the use of that (HEAPCAST_ARCH_FIXED in
 * CMakeLists.txt).
 *
 * The callee-saved registers are left out: a walk that meets a row in need of them finds them by
 * unwinding the hook's own frame (registers.c), so the hot path does not pay for them. For that the
 * hook's module must be known to find_module.
 */
static inline __attribute__((always_inline)) void unwind_regs_here(struct unwind_regs *ret_regs)
{
	ret_regs->pc = arch_code_address((uintptr_t)__builtin_return_address(0));
	ret_regs->sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	ret_regs->fp = arch_caller_fp();
	ret_regs->has_saved = false;
}
