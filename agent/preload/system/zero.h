#pragma once
/*
 * HEAPCAST_ZERO_MEMORY: the library zeroes the memory that the program allocates, so that two runs
 * of a program that reads uninitialised memory behave the same. On this request only, these
 * functions replace the allocator's in the table of next.h. The hooks do not change, and cost
 * nothing more.
 *
 * The whole block is zeroed (malloc_usable_size), so bytes that a later realloc adds in place are
 * zero, too.
 */
#include "agent/preload/system/next.h"

/* Replaces the functions in `table` by zeroing ones. */
void zero_insert(struct next *table);

/* Returns the allocator's own malloc, even if the table holds a replacement. */
void *zero_allocator(void);
