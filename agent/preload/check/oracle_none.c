/* The functions of oracle.h without another unwinder. */
#include "agent/preload/check/oracle.h"

#include "agent/preload/poison.h"

void oracle_compare(struct report *report, const struct unwind_regs *regs, const uint64_t *pcs,
		    uint32_t count, uint32_t flags)
{
	(void)report;
	(void)regs;
	(void)pcs;
	(void)count;
	(void)flags;
}
