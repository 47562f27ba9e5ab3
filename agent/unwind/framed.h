#pragma once
/*
 * Finds rows of functions without a table that keep a frame pointer. A function's code is scanned
 * once, and the range in which its frame pointer is valid is cached for the whole process. Each
 * further program counter of the function takes only a lookup. The rows are plain ones.
 */
#include "agent/unwind/rows.h"

/* Finds the row of a return address that lies in the module after a call. Returns false if the row
 * is not known. */
bool framed_find(const struct unwind_module *module, uint64_t pc, uint32_t *ret_row);

/* Clears the cache because modules have changed. Call it while the caches are suspended. */
void framed_clear(void);
