#include "agent/unwind/arch/arch.h"

#include "agent/unwind/ban.h"

bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame)
{
	(void)code;
	(void)pc;
	(void)interrupted;
	ret_frame->outermost = false;
	return false;
}
