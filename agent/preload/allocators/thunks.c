/* Thunks; see thunks.h. */
#include "agent/preload/allocators/thunks.h"

#include "agent/preload/poison.h"

#define ONES(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL(X)	   ONES(X, ) ONES(X, 1) ONES(X, 2) X(30) X(31)

#define DEFINE(n)                                                                                  \
	static uintptr_t thunk_##n(WORDS)                                                          \
	{                                                                                          \
		return allocators_call(ARGUMENTS, n GIVE_OWN);                                     \
	}
#define NAME(n) thunk_##n,

ALL(DEFINE)

static uintptr_t (*const thunks[THUNKS])(WORDS) = {ALL(NAME)};

uintptr_t thunk(unsigned number)
{
	return (uintptr_t)thunks[number];
}
