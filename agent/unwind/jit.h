#pragma once
/*
 * Unwind tables of code generated at run time, as compilers register them (__register_frame).
 *
 * The functions are in an unsorted table of (function, entry), which any thread reads without a
 * lock. A place in it is free, being written, or belongs to a registration. A reader uses the
 * contents of a place only if it belonged to the same registration before and after. The entries
 * themselves stay in the program's memory. They are read only for a function that is on a stack,
 * and the program must not free those. The table is searched only if no module contains a program
 * counter.
 */
#include "agent/unwind/unwind.h"

/* Finds the function that contains `pc`, as a module with one entry (unwind_module.entry). Returns
 * false if there is none. */
bool jit_find(uint64_t pc, struct unwind_module *ret_module);
