/* The functions of arch.h for processors whose procedure linkage table needs no DWARF expression:
 * the unwind table has plain rows for it, or none. */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/ban.h"

bool arch_is_plt_expression(const uint8_t *expression, size_t length, unsigned *ret_constant)
{
	(void)expression;
	(void)length;
	(void)ret_constant;
	return false;
}

uint64_t arch_plt_cfa(uint64_t sp, uint64_t pc, unsigned constant)
{
	(void)pc;
	(void)constant;
	return sp;
}
