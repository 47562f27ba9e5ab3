#pragma once
/* One call of an allocator's function that was found at run time: what allocators.c and throwing.c
 * share. See allocators.c. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/record/thread.h"
#include "agent/preload/allocators/thunks.h"

struct bound {
	uintptr_t (*next)(WORDS); /* NULL: free to take */
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

/* Does the call, with the hook entered, and leaves the hook: of all shapes but those that give a
 * block and take none. `words`: the arguments behind that of a heap. */
uintptr_t allocators_other(struct call *call, const uintptr_t *words);

/* How many bytes the result of one that gives a block has; 0 in `ret_p`: it is none. */
uintptr_t allocators_size(const struct call *call, uintptr_t result, const uintptr_t *words,
			  uintptr_t *ret_p);

/* In throwing.c: enters the hook, and does the call; `frame`: whose caller is the program. */
uintptr_t allocators_serve(struct call *call, struct ring_header *ring, uintptr_t frame);
/* The hook of bound[number]. */
uintptr_t allocators_recorded(WORDS, unsigned number FRAME_GIVEN) HIDDEN;
