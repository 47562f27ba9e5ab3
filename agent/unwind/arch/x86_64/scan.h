#pragma once
/* Reading a function's code to its return. See scan.c. */
#include "agent/unwind/arch/arch.h"

/* From `start` on, which was `interrupted` or lies behind a call: where the return address is. */
bool scan_forward(const struct arch_code *code, const uint8_t *start, bool interrupted,
		  struct arch_frame *ret_frame);
