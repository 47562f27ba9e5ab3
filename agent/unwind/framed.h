#pragma once
/*
 * Code without a table whose functions keep a frame pointer: it is read once for a function, and
 * where the frame pointer holds is kept for the whole process, so that each other program counter
 * of the function is a look-up. The rows are plain ones.
 */
#include "agent/unwind/rows.h"

/* The row of a return address, which lies in the module and behind a call; false: not known. */
bool framed_find(const struct unwind_module *module, uint64_t pc, uint32_t *ret_row);

/* All is dropped: modules have changed. Called while the caches are suspended. */
void framed_clear(void);
