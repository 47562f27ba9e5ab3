#pragma once
/*
 * Unwind tables of code generated at run time, as compilers register them (__register_frame).
 *
 * An unsorted table of (function, entry) that any thread reads without a lock. A place is free,
 * being written, or belongs to a registration. A reader uses what it found only if the place
 * belonged to the same registration before and after. The entries themselves stay in the program's
 * memory; they are read only for a function that is on a stack, which the program must not free.
 * The table is searched only if no module contains a program counter.
 */
#include "agent/unwind/unwind.h"

/* Returns the function that contains `pc`, as a module with one entry (unwind_module.entry); false
 * if there is none. */
bool jit_find(uint64_t pc, struct unwind_module *ret_module);
