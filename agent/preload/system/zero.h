#pragma once
/*
 * HEAPCAST_ZERO_MEMORY: what the program allocates is zeroed, so that two runs of a program that
 * reads what it never wrote do the same. Only if asked: then these functions take the allocator's
 * places in the table of next.h; the hooks do not know, and cost nothing more.
 *
 * Zeroed is all that a block has (malloc_usable_size), so that what a realloc later adds within is
 * zero too.
 */
#include "agent/preload/system/next.h"

/* Puts the zeroing functions in front of those in `table`. */
void zero_insert(struct next *table);

/* The allocator's own malloc, whatever stands in the table. */
void *zero_allocator(void);
