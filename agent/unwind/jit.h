#pragma once
/*
 * Tables of code made at run time, as compilers hand them over at run time (__register_frame).
 *
 * A table of (function, its entry), in no order, that any thread reads without a lock: a place is
 * free, being written, or belongs to a registration. What a reader finds is believed only if the
 * place belonged to the same registration before and after. The entries themselves stay in the
 * program's memory; they are read only for a function that is on a stack, which the program may not
 * free. Looked at only where no module holds a program counter.
 */
#include "agent/unwind/unwind.h"

/* The function that holds `pc`, as a module with one entry (unwind_module.entry). */
bool jit_find(uint64_t pc, struct unwind_module *ret_module);
