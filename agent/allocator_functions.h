#pragma once
/*
 * The functions of known allocators, by name: jemalloc's mallocx family and its prefixed builds,
 * tcmalloc, mimalloc.
 *
 * A function has a *shape*, which says which argument is the size and which is the block.
 * libheapcast.so chooses its hooks by shape; the agent looks for the functions among a program's
 * symbols. Both share this table and exchange indices into it, so any change to the table must
 * raise RING_VERSION.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arguments are a, b, c...; they follow the heap if the function has a heap argument. */
enum allocator_shape {
	SHAPE_SIZE_A,
	SHAPE_SIZE_B,
	SHAPE_COUNT_AB,	   /* a * b bytes */
	SHAPE_POSIX,	   /* *a becomes a block of c bytes, unless the result is an error */
	SHAPE_MOVE_AB,	   /* realloc: block a, b bytes */
	SHAPE_MOVE_ABC,	   /* block a, b * c bytes */
	SHAPE_MOVE_OR_END, /* as MOVE_AB, but a block that cannot be moved is freed */
	SHAPE_RESIZE,	   /* block a becomes b bytes in place, unless the result is less */
	SHAPE_TEXT,	   /* the result is a string */
	SHAPE_TEXT_OWN,	   /* as TEXT, unless b is the buffer for the result */
	SHAPE_END,	   /* frees a */
};

struct allocator_function {
	char name[18];
	uint8_t kind; /* of the event: a number of EVENT_KINDS (proto/event.h) */
	uint8_t shape;
};

#define ALLOCATOR_FUNCTIONS 35
extern const struct allocator_function allocator_functions[ALLOCATOR_FUNCTIONS];

/* Returns the index of the function with this name in any known allocator, or a negative value if
 * the name is unknown. Sets *ret_heap if its first argument is a heap; its other arguments then
 * shift by one. */
int allocator_function_find(const char *name, bool *ret_heap);

/* Like allocator_function_find, for a name that a module imports: the names above, sized frees of
 * standard C, and cfree. */
int allocator_function_imported(const char *name, bool *ret_heap);

/* Like allocator_function_find, for the common names of an allocator that replaces malloc: malloc
 * and its family, and the operators of C++. Sized frees count as frees: their additional arguments
 * are ignored. */
int allocator_function_find_common(const char *name);
