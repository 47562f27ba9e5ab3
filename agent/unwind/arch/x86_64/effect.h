#pragma once
/* What an instruction changes, as far as following a value through a few of them takes. */
#include "agent/unwind/arch/x86_64/insn.h"

/* General registers that it writes, a bit each; false: not known. Of a call, jump or return: not
 * asked. */
bool effect_registers(const struct insn *insn, uint32_t *ret_registers);

/* It writes to memory, other than by a push. In doubt it does. */
bool effect_stores(const struct insn *insn);

/* It leaves the flags alone. In doubt it does not. */
bool effect_keeps_flags(const struct insn *insn);
