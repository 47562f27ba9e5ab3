#pragma once
/*
 * operator new and operator delete of C++, in all their forms. They are hooked, never replaced:
 * each is forwarded to the definition behind ours, which is looked for at its first call (a C
 * program has none).
 *
 * The definition of libstdc++ or libc++ calls malloc and free, whose hooks record: it is only
 * jumped to, or left out where sampling passes the block over. That of an allocator (tcmalloc,
 * mimalloc, jemalloc...) does the work itself: the operator is recorded here. Which of the two it is, is told by the module: does it have the next
 * malloc, too?
 */
#include <stdint.h>

/* The personality of functions in which an exception of the allocator may end a hook: see
 * ARCH_PERSONALITY, and hook_may_throw in thread.h. */
int operators_unwound(int version, int actions, uint64_t class, void *exception, void *context);

/* After a dlclose: definitions in libraries that only plugins need may be gone with them. */
void operators_forget(void);
