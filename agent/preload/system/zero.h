#pragma once
/*
 * HEAPCAST_ZERO_MEMORY: the library zeroes what the program allocates, so that two runs of a
 * program that reads uninitialised memory behave the same. On request only: these functions then
 * replace the allocator's in the table of next.h. The hooks are not aware of it, and cost nothing
 * more.
 *
 * The whole block is zeroed (malloc_usable_size), so bytes that a later realloc adds in place are
 * zero, too.
 */
#include "agent/preload/system/next.h"

/* Replaces the functions in `table` by zeroing ones. */
void zero_insert(struct next *table);

/* The allocator's own malloc, whatever the table holds. */
void *zero_allocator(void);
