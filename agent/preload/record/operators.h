#pragma once
/*
 * operator new and operator delete of C++, in all their forms. They are hooked, never replaced:
 * each is forwarded to the definition behind ours, which is looked for at its first call (a C
 * program has none).
 *
 * The definition of libstdc++ or libc++ calls malloc and free, whose hooks record: it is only
 * jumped to, or left out where sampling passes the block over. That of an allocator (tcmalloc,
 * mimalloc, jemalloc...) does the work itself: the operator is recorded here. Which of the two it
 * is, is told by the module: does it have the next malloc, too?
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/preload/system/state.h"

/* Any form takes a word and at most two more. */
typedef void *operator_function(uintptr_t word, uintptr_t a, uintptr_t b);

/* A form of an operator. `next` and `direct` are NULL until the first call, and are stored last. */
struct cxx_operator {
	operator_function *direct; /* the same, unless it is the allocator's: nothing to do here */
	operator_function *next;
	bool own;     /* the allocator's: recorded here */
	bool private; /* found outside of the loader's search */
};

#define FORM_DELETE 8 /* forms below are of operator new */
#define FORMS	    20

extern struct cxx_operator operators[FORMS] HIDDEN;

/* The hook of an allocator's own operator new; in throwing.c. Hidden, so that MIPS64, too, jumps to
 * it: its caller would be on the stack, and an exception can't pass that. */
void *new_recorded(size_t size, uintptr_t a, uintptr_t b, unsigned form) HIDDEN;

/* The personality of functions in which an exception of the allocator may end a hook: see
 * ARCH_PERSONALITY, and hook_may_throw in thread.h. In throwing.c. */
int operators_unwound(int version, int actions, uint64_t class, void *exception, void *context);

/* As the process starts: those that it has. The others are looked for when they are called. */
void operators_resolve(void);

/* After a dlclose: definitions in libraries that only plugins need may be gone with them. */
void operators_forget(void);
