#pragma once
/*
 * Unwinding with all registers, for the rare rows that need more than pc, sp and fp: glibc's lazy
 * binding (cfa = rbx + n), a few hand-written functions, frames interrupted in an odd prologue.
 * Nothing is cached here and nothing remembered.
 */
#include "agent/unwind/cfi.h"
#include "agent/unwind/walk.h"

struct registers {
	uint64_t value[ARCH_REGISTERS];
	uint32_t known; /* bit set */
};

/*
 * The caller's registers by the rules. 0; 1: the return address is undefined, so this was the
 * outermost frame; -ENODATA: a register that is not known decides; another negative errno: it makes
 * no sense. In a signal frame every register of the interrupted code is found, and sp may be
 * anywhere.
 */
int registers_apply(struct walk *w, const struct unwind_module *module,
		    const struct cfi_rules *rules, bool signal, const struct registers *in,
		    struct registers *out);

/* As walk_whole, following all registers. Where `regs` does not have them they are found by
 * unwinding from here. */
void registers_walk(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);
