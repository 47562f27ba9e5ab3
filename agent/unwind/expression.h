#pragma once
/* Evaluates DWARF expressions in call frame information (DWARF 5, section 2.5), with a bounded
 * stack and a bounded number of steps. */
#include "agent/unwind/registers.h"

/*
 * Evaluates the expression whose length field lies at `offset` from the module's load_start.
 * `initial` is the value on the stack at the start (the cfa, for register rules), or NULL. Returns
 * 0; -ENODATA if it needs an unknown register; -EBADMSG or -EFAULT.
 */
int expression_value(struct walk *w, const struct unwind_module *module, uint32_t offset,
		     const struct registers *in, const uint64_t *initial, uint64_t *ret_value);
