#pragma once
/*
 * Unwinding with all registers, for the rare rows that need more than pc, sp and fp: glibc's lazy
 * binding (cfa = rbx + n), a few hand-written functions, frames interrupted in an unusual prologue.
 * Nothing is cached or remembered.
 */
#include "agent/unwind/cfi.h"
#include "agent/unwind/walk.h"

struct registers {
	uint64_t value[ARCH_REGISTERS];
	uint32_t known; /* bit set */
};

/*
 * Computes the caller's registers by the rules. Returns 0; 1 if the return address is undefined,
 * which means that this was the outermost frame; -ENODATA if an unknown register is needed; or
 * another negative errno if the rules make no sense. A signal frame yields every register of the
 * interrupted code, whose sp may be anywhere.
 */
int registers_apply(struct walk *w, const struct unwind_module *module,
		    const struct cfi_rules *rules, bool signal, const struct registers *in,
		    struct registers *out);

/* Does the same as walk_whole, but tracks all registers. If `regs` does not have them, finds them
 * by unwinding from the current function. */
void registers_walk(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);
