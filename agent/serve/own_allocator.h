#pragma once
/*
 * Finds allocators that are linked into a program itself. Calls to them do not go through the
 * loader's tables (PLT, GOT). The agent finds their functions in the program's file. For each
 * function it computes the bytes that libheapcast.so writes over the first instructions
 * (proto/ring.h), or the reason why that is impossible.
 *
 * An allocator is hooked as a whole. If one of the functions that free blocks can't be hooked, none
 * is; otherwise freed blocks would look leaked. If a function that allocates can't be hooked, its
 * blocks are missing from the recording, and a warning says so.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"
#include "proto/ring_handshake.h"

struct own_allocator {
	uint32_t count;
	struct ring_entry entry[RING_ENTRIES_MAX];
	uint32_t refused; /* functions that are not hooked */
	char function[64];
	const char *reason; /* why `function`, the first of them, is not hooked; NULL if none was
			     * refused */
};

/* Examines the program that is open at `fd`. `early`: the program has one thread and has not
 * entered main. Otherwise no function can be patched, and all are refused. If the file can't be
 * read, the result is empty. One caller at a time. */
void own_allocator_find(int fd, bool early, struct own_allocator *ret);
