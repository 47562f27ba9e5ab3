#pragma once
/*
 * Functions that differ only in a number. Each passes its arguments on to allocators_call, followed
 * by this number, and leaves no frame on the stack. thunks.c defines them in C. If these would take
 * too much room on a processor, that processor's folder has its own thunks.
 */
#include <stdint.h>

#include "arch.h"

#define THUNKS	  32
#define WORDS	  uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e
#define ARGUMENTS a, b, c, d, e

/* A thunk jumps to the hook, so the stack begins at the hook's frame. A thunk that can only call
 * passes its own frame to the hook. */
#ifdef ARCH_THUNKS_CALL
#define FRAME_GIVEN , uintptr_t frame
#define GIVE_FRAME  , frame
#define GIVE_OWN    , ARCH_FRAME
#else
#define FRAME_GIVEN
#define GIVE_FRAME
#define GIVE_OWN
#endif

/* Returns the address of thunk `number`, which must be below THUNKS. */
uintptr_t thunk(unsigned number);

/* The hook behind the thunks, in allocators.c. */
uintptr_t allocators_call(WORDS, unsigned number FRAME_GIVEN);
