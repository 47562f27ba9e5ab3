#pragma once
/*
 * Allocators under names of their own: jemalloc's mallocx family and its prefixed builds, tcmalloc,
 * mimalloc. They are hooked, never replaced: a hook calls the definition that
 * the program would have got, and notes what it did.
 *
 * We do not export such names: programs ask whether they are there (`if (mallocx)`), and would
 * get another answer. Instead imports.c redirects the calls of the modules that import them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hook in front of this definition of it: the same one for the same definition. 0: there are
 * more than we have room for. */
uintptr_t allocators_hook(const char *name, uintptr_t definition);

/* After a dlclose: definitions that are gone are forgotten. */
void allocators_forget(void);

/* Takes a place for a function of the program's own, which is to be patched `at` its beginning and
 * goes on at `original`: its number. At most RING_ENTRIES_MAX times, by one thread. */
unsigned allocators_patch(unsigned function, bool heap, uintptr_t at, uintptr_t original);

/* How many are. */
extern unsigned allocators_patched;

/* The hook of those. Called by the processor's arch_patched, whose frame is a plain one and has
 * below it what the register of the result held, which stays if there is none. */
uintptr_t allocators_entered(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			     unsigned number);
