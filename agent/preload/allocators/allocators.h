#pragma once
/*
 * Hooks allocators under their own names: jemalloc's mallocx family and its prefixed builds,
 * tcmalloc, mimalloc. They are hooked, never replaced: a hook calls the definition that the program
 * would have called, and notes the result.
 *
 * The library does not export these names: programs test whether they exist (`if (mallocx)`), and
 * would get a wrong answer. Instead, imports.c redirects the calls of the modules that import them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the hook for this definition of `name`; the same definition always gets the same hook.
 * Returns 0 if all hooks are taken, if the name is unknown, or if the definition belongs to the
 * program and already jumps to its hook. */
uintptr_t allocators_hook(const char *name, uintptr_t definition);

/* Called after a dlclose: forgets definitions that were unloaded. */
void allocators_forget(void);

/* Registers a function of the program's own, which jumps to allocators_entered from its address
 * `at` and continues at `original` (patch.h). Returns its number. At most RING_ENTRIES_MAX calls,
 * all from one thread. */
unsigned allocators_add_own(unsigned function, bool heap, uintptr_t at, uintptr_t original);

/* Number of such functions. */
extern unsigned allocators_own;

/* The hook of these functions. Its caller has a plain frame, and the word below the frame holds the
 * previous value of the result register, which must survive if the function has no result. */
uintptr_t allocators_entered(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			     unsigned number);
