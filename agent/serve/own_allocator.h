#pragma once
/*
 * Allocators that are linked into a program itself: calls of theirs pass no table of the loader.
 * Looks for their functions in the program's file, and says what libheapcast.so is to write over
 * the first instructions of each (proto/ring.h), or why it can't be done.
 *
 * An allocator is taken as a whole: if one of the functions by which its blocks end can't be
 * hooked, none is; else blocks would look leaked that are not. Where one by which they begin can't
 * be, its blocks are missing, and that is said.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct own_allocator {
	uint32_t count;
	struct ring_entry entry[RING_ENTRIES_MAX];
	uint32_t refused; /* functions that are not hooked, and the first of them with the reason */
	char function[64];
	const char *reason; /* NULL if there is none */
};

/* Of the program that is open at `fd`. `early`: its main has not begun and it has one thread.
 * Otherwise, or if its file can't be read, nothing can be done to it. One caller at a time. */
void own_allocator_find(int fd, bool early, struct own_allocator *ret);
