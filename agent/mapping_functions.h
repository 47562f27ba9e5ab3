#pragma once
/*
 * The functions by which a program maps memory for itself, as uprobes know them. Their numbers and
 * shapes continue those of agent/allocator_functions.h. Their events lie in an address space of
 * their own (proto/event.h). The hooks of libheapcast.so are in
 * agent/preload/allocators/mappings.c.
 */
#include "agent/allocator_functions.h"

enum mapping_shape {
	SHAPE_MAP = SHAPE_END + 1, /* b bytes at the result, unless the result is an error */
	SHAPE_UNMAP,		   /* b bytes starting at a */
	SHAPE_REMAP,		   /* b bytes starting at a become c bytes at the result */
	SHAPE_SBRK,		   /* the break moves by a; the result is the old break */
	SHAPE_BRK,		   /* the break moves to a */
};

#define MAPPING_FUNCTIONS	5
#define MAPPING_FUNCTIONS_FIRST ALLOCATOR_FUNCTIONS

/* Results from here up are errors. */
#define MAPPING_ERRORS ((uint64_t)-4095)
