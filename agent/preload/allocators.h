#pragma once
/*
 * Allocators under names of their own: jemalloc's mallocx family and its prefixed builds, tcmalloc,
 * mimalloc, in shared libraries. They are hooked, never replaced: a hook calls the definition that
 * the program would have got, and notes what it did.
 *
 * We do not export such names: programs ask whether they are there (`if (mallocx)`), and would
 * get another answer. Instead imports.c redirects the calls of the modules that import them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this the name of a function that we know? It gives or takes blocks. */
bool allocators_knows(const char *name);

/* The hook in front of this definition of it: the same one for the same definition. 0: there are
 * more than we have room for. */
uintptr_t allocators_hook(const char *name, uintptr_t definition);

/* After a dlclose: definitions that are gone are forgotten. */
void allocators_forget(void);
