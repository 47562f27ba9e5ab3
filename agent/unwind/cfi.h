#pragma once
/*
 * Decodes call frame information: the rules at one address. The decoder runs the instructions of
 * the function's table entry up to this address (DWARF 5, section 6.4, with the GNU extensions of
 * .eh_frame).
 */
#include "agent/unwind/arch/arch.h"
#include "agent/unwind/eh_frame.h"

enum cfi_kind {
	CFI_SAME, /* unchanged; also if the table gives no rule */
	CFI_UNDEFINED,
	CFI_OFFSET,	    /* saved at cfa + value */
	CFI_VAL_OFFSET,	    /* is cfa + value */
	CFI_REGISTER,	    /* is in register `value` */
	CFI_EXPRESSION,	    /* saved at the address that the expression yields */
	CFI_VAL_EXPRESSION, /* is the value of the expression */
};

struct cfi_rule {
	uint8_t kind;
	int32_t value; /* for an expression: offset of its length field from the module's
			* load_start, unsigned */
};

struct cfi_rules {
	struct cfi_rule cfa; /* CFI_VAL_OFFSET: cfa_register + value; CFI_EXPRESSION: the expression
			      * yields the cfa itself */
	uint8_t cfa_register;
	struct cfi_rule registers[ARCH_REGISTERS];
};

/* Decodes the rules at `address`, which lies in the entry's function. Returns 0, or -EBADMSG if the
 * entry is damaged or exceeds a limit of this decoder. */
int cfi_decode(const struct unwind_module *module, const struct eh_entry *entry, uint64_t address,
	       struct cfi_rules *ret_rules);
