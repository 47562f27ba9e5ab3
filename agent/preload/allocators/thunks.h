#pragma once
/*
 * Functions that differ in nothing but a number: each hands its arguments on to allocators_call,
 * with that number behind them, and is not on the stack. thunks.c has them in C; where those would
 * take much room, the processor's folder has its own.
 */
#include <stdint.h>

#include "arch.h"

#define THUNKS	  32
#define WORDS	  uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e
#define ARGUMENTS a, b, c, d, e

/* The hook is what a thunk jumps to; where it can't but call, it is the thunk. */
#ifdef ARCH_THUNKS_CALL
#define FRAME_GIVEN , uintptr_t frame
#define GIVE_FRAME  , frame
#define GIVE_OWN    , ARCH_FRAME
#else
#define FRAME_GIVEN
#define GIVE_FRAME
#define GIVE_OWN
#endif

/* Where thunk number `number` begins; below THUNKS. */
uintptr_t thunk(unsigned number);

/* The hook that they are of, in allocators.c. */
uintptr_t allocators_call(WORDS, unsigned number FRAME_GIVEN);
