#pragma once
/* One call of an allocator's function that was found at run time: shared by allocators.c and
 * throwing.c. See allocators.c. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/record/thread.h"
#include "agent/preload/allocators/thunks.h"

struct bound {
	uintptr_t (*next)(WORDS); /* NULL: unused */
	uint8_t kind;
	uint8_t shape;
	bool heap;
};

extern struct bound allocators_bound[] HIDDEN;

struct call {
	const struct bound *f;
	uintptr_t word[5]; /* arguments */
	struct hook hook;
};

static inline uintptr_t call_next(const struct call *call)
{
	const uintptr_t *w = call->word;

	return call->f->next(w[0], w[1], w[2], w[3], w[4]);
}

/* Makes the call in a hook that was entered, and leaves the hook. For all shapes except those that
 * return a block and take none. `words` are the arguments after a heap argument. */
uintptr_t allocators_other(struct call *call, const uintptr_t *words);

/* For shapes that return a block: returns the size of the block in bytes and stores its address in
 * *ret_p, or 0 if the result is not a block. */
uintptr_t allocators_size(const struct call *call, uintptr_t result, const uintptr_t *words,
			  uintptr_t *ret_p);

/* In throwing.c: enters the hook and makes the call. `frame` is the frame whose caller is the
 * program. */
uintptr_t allocators_serve(struct call *call, struct ring_header *ring, uintptr_t frame);
/* The hook of bound[number]. */
uintptr_t allocators_recorded(WORDS, unsigned number FRAME_GIVEN) HIDDEN;
