#pragma once
/*
 * The functions by which a program maps memory for itself, as uprobes know them: numbers and shapes
 * behind those of agent/allocator_functions.h. Their events lie in a space of their own
 * (proto/event.h); the hooks of libheapcast.so are in agent/preload/allocators/mappings.c.
 */
#include "agent/allocator_functions.h"

enum mapping_shape {
	SHAPE_MAP = SHAPE_END + 1, /* b bytes, at the result, unless that is an error */
	SHAPE_UNMAP,		   /* b bytes from a on */
	SHAPE_REMAP,		   /* b bytes from a on become c bytes at the result */
	SHAPE_SBRK,		   /* the break moves by a; the result is where it was */
	SHAPE_BRK,		   /* the break moves to a */
};

#define MAPPING_FUNCTIONS	5
#define MAPPING_FUNCTIONS_FIRST ALLOCATOR_FUNCTIONS

/* What an error looks like as a result. */
#define MAPPING_ERRORS ((uint64_t)-4095)
