#pragma once
/*
 * Call frame information: the rules that hold at one address, decoded by running the instructions
 * of the function's table entry up to there (DWARF 5, section 6.4, with the GNU extensions of
 * .eh_frame).
 */
#include "agent/unwind/arch/arch.h"
#include "agent/unwind/eh_frame.h"

enum cfi_kind {
	CFI_SAME, /* also: nothing said */
	CFI_UNDEFINED,
	CFI_OFFSET,	    /* saved at cfa + value */
	CFI_VAL_OFFSET,	    /* is cfa + value */
	CFI_REGISTER,	    /* is in register `value` */
	CFI_EXPRESSION,	    /* saved where the expression says */
	CFI_VAL_EXPRESSION, /* is what the expression says */
};

struct cfi_rule {
	uint8_t kind;
	int32_t value; /* of an expression: offset of its length field from the module's load_start,
			  unsigned */
};

struct cfi_rules {
	struct cfi_rule
		cfa; /* CFI_VAL_OFFSET: cfa_register + value; CFI_EXPRESSION: the value itself */
	uint8_t cfa_register;
	struct cfi_rule registers[ARCH_REGISTERS];
};

/* The rules at `address`, which lies in the entry's function. -EBADMSG: damaged, or beyond what is
 * supported. */
int cfi_decode(const struct unwind_module *module, const struct eh_entry *entry, uint64_t address,
	       struct cfi_rules *ret_rules);
