#pragma once
/* Tells what an instruction changes, for code that follows a value through a few instructions. */
#include "agent/unwind/arch/x86_64/insn.h"

/* Sets a bit for each general register that the instruction writes. Returns false if that is not
 * known. Not for calls, jumps and returns. */
bool effect_registers(const struct insn *insn, uint32_t *ret_registers);

/* Tells whether the instruction writes to memory, other than by a push. True if in doubt. */
bool effect_stores(const struct insn *insn);

/* Tells whether the instruction leaves the flags alone. False if in doubt. */
bool effect_keeps_flags(const struct insn *insn);
