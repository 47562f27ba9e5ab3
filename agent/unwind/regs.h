#pragma once
/* The start of a hook's walk. It is separate from unwind.h because this code must be compiled into
 * the hook. */
#include "agent/unwind/unwind.h"
#include "arch_here.h"

/*
 * Returns the state of the caller of the function that contains this call. The hook itself must
 * contain the call. The hook must not be inlined, and must not end in a tail call before the
 * capture. On processors with frame records (ARCH_RECORD) the builtins make the hook build a
 * record, from which this function reads the caller's fp. On others fp is still in its register,
 * because the hook is compiled not to use that register (HEAPCAST_ARCH_FIXED in CMakeLists.txt).
 *
 * The callee-saved registers are left out: a walk that needs them finds them by unwinding the
 * hook's own frame (registers.c), so the hot path does not pay for them. This requires that
 * find_module knows the hook's module.
 */
static inline __attribute__((always_inline)) void unwind_regs_here(struct unwind_regs *ret_regs)
{
	ret_regs->pc = arch_code_address((uintptr_t)__builtin_return_address(0));
	ret_regs->sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	ret_regs->fp = arch_caller_fp();
	ret_regs->has_saved = false;
}
