#include "agent/unwind/row.h"

#include "agent/unwind/ban.h"

bool arch_table_row(const struct unwind_module *module, uint64_t pc, bool interrupted,
		    uint32_t *ret_row)
{
	(void)module;
	(void)pc;
	(void)interrupted;
	(void)ret_row;
	return false;
}
