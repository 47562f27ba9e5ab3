#pragma once
/* Reads a function's code up to its return. See scan.c. */
#include "agent/unwind/arch/arch.h"

/* Finds the return address by reading forward from `start`, where the code was `interrupted` or a
 * call has returned. */
bool scan_forward(const struct arch_code *code, const uint8_t *start, bool interrupted,
		  struct arch_frame *ret_frame);
