#pragma once
/*
 * Hooks for operator new and operator delete of C++, in all their forms. The operators are hooked,
 * never replaced: each call is forwarded to the next definition. It is looked up at the first call,
 * because a C program has none.
 *
 * The definition in libstdc++ or libc++ calls malloc and free, whose hooks record. The operator's
 * hook then only jumps to it, or skips it where sampling skips the block. The definition in an
 * allocator (tcmalloc, mimalloc, jemalloc...) does the work itself, so the operator is recorded
 * here. The module tells the two apart: it is an allocator's definition if the same module also has
 * the next malloc.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Each form takes one word and at most two more. */
typedef void *operator_function(uintptr_t word, uintptr_t a, uintptr_t b);

/* A form of an operator. `next` and `direct` are NULL until the first call. They are stored
 * last. */
struct cxx_operator {
	operator_function *direct; /* as `next`, or a shortcut; NULL for an allocator's operator */
	operator_function *next;
	bool own;     /* an allocator's operator: recorded here */
	bool private; /* found outside the loader's search order */
};

#define FORM_DELETE 8 /* lower forms are of operator new */
#define FORMS	    20

extern struct cxx_operator operators[FORMS] HIDDEN;

/* The hook of an allocator's own operator new; in throwing.c. It is hidden so that MIPS64, too,
 * reaches it by a jump. A call would leave the caller on the stack, and an exception cannot pass
 * through that frame. */
void *new_recorded(size_t size, uintptr_t a, uintptr_t b, unsigned form) HIDDEN;

/* The personality routine of functions in which an exception of the allocator may end a hook; see
 * ARCH_PERSONALITY, and hook_may_throw in thread.h. In throwing.c. */
int operators_unwound(int version, int actions, uint64_t class, void *exception, void *context);

/* Resolves the operators that the process has at its start. The others are looked up when they are
 * called. */
void operators_resolve(void);

/* Called after a dlclose, which may have unloaded definitions in libraries that only plugins
 * need. */
void operators_forget(void);
