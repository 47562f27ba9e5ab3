#pragma once
/*
 * The functions of allocators that we know by name: jemalloc's mallocx family and its prefixed
 * builds, tcmalloc, mimalloc.
 *
 * A function has a *shape*: which argument is the size, which one the block. libheapcast.so hooks
 * them by it; the agent looks for them among a program's symbols. Both share this table, and
 * entries of it travel by their number: who changes it raises RING_VERSION.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments are a, b, c..., behind a heap if there is one. */
enum allocator_shape {
	SHAPE_SIZE_A,
	SHAPE_SIZE_B,
	SHAPE_COUNT_AB,	   /* a * b bytes */
	SHAPE_POSIX,	   /* *a becomes a block of c bytes, unless the result is an error */
	SHAPE_MOVE_AB,	   /* realloc: block a, b bytes */
	SHAPE_MOVE_ABC,	   /* block a, b * c bytes */
	SHAPE_MOVE_OR_END, /* as MOVE_AB; but a block that can not be moved is freed */
	SHAPE_RESIZE,	   /* block a is in place made b bytes, if the result is no less */
	SHAPE_TEXT,	   /* the result is a string */
	SHAPE_TEXT_OWN,	   /* likewise, unless b is where to put it */
	SHAPE_END,	   /* frees a */
};

struct allocator_function {
	char name[18];
	uint8_t kind; /* of the event: a number of EVENT_KINDS (proto/event.h) */
	uint8_t shape;
};

#define ALLOCATOR_FUNCTIONS 35
extern const struct allocator_function allocator_functions[ALLOCATOR_FUNCTIONS];

/* The number of the function that goes by this name in some allocator; `ret_heap`: its first
 * argument is a heap, and the others come one later. Negative: none that we know. */
int allocator_function_find(const char *name, bool *ret_heap);

/* The same for what a module imports: those, and sized frees of the C standard and cfree. */
int allocator_function_imported(const char *name, bool *ret_heap);

/* The same for the names that every allocator gives its functions if it takes malloc's place:
 * malloc and its family, and the operators of C++. (With arguments of their own that we do not look
 * at, sized frees are frees.) */
int allocator_function_find_common(const char *name);
