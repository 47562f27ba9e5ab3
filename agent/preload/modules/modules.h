#pragma once
/*
 * Finds the modules of the process by address, and announces them to the agent.
 *
 * A module is announced before a program counter inside it is published: the unwinder asks
 * modules_find for each address that it does not know yet, and modules_find announces the module
 * that it finds. The library notices unloaded modules after a dlclose, and whenever the loader's
 * count of unloads has changed; it then raises the epoch.
 *
 * Locks: a thread takes the loader's lock first, if it is available at once (loader.h), and then
 * the lock of modules.c. A thread of the loader that allocates already holds the loader's lock, so
 * this order never reverses. Callers have set the hook's guard, so that no signal handler
 * re-enters.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

/* Called before everything else here. `image` is that of the ring, 0 for its first program; each
 * image has its own range of ids. */
void modules_init(uint32_t image);

/* For struct unwind_host: returns the module with this executable address, NULL if there is none,
 * or unwind_module_unknown if it cannot be determined now. */
const struct unwind_module *modules_find(void *context, uint64_t pc);

/* Looks for modules that were loaded or unloaded, and announces them. Returns false if this is not
 * possible now. */
bool modules_refresh(void);

/* Announces all modules, with their present ids, to the agent of this incarnation, unless it has
 * been told. Returns false if this is not possible now. */
bool modules_tell_again(uint32_t incarnation);

/* Called in the fork child. Unlocks the lock of modules.c. After modules_init, all modules are
 * announced anew, to another ring. Returns false if a thread that does not exist in the child may
 * hold the loader's lock; nothing in here may be called any more then. */
bool modules_forked(void);
