#pragma once
/*
 * The modules of the process: who holds an address, and the announcements to the agent.
 *
 * A module is announced before a program counter inside it is published: the unwinder asks
 * modules_find for each address that it does not know yet, and modules_find announces what it
 * finds. Modules that are gone are noticed after a dlclose and whenever the loader's count of
 * unloads has changed; then the epoch is raised.
 *
 * Locks: the loader's is taken first, if it can be had at once (loader.h), ours inside of
 * it. A thread of the loader that allocates already holds the former, so this order never turns
 * around. Called with the hook's guard set, so that no signal's handler comes back here.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

/* Before anything else here. `image`: of the ring, 0 for its first program; each has ids of its
 * own. */
void modules_init(uint32_t image);

/* For struct unwind_host: the module with this executable address; NULL: none; or that there is no
 * telling now. */
const struct unwind_module *modules_find(void *context, uint64_t pc);

/* Looks for modules that have come and gone, and announces that. false: it could not be done
 * now. */
bool modules_refresh(void);

/* Announces all, with the ids that they have, to the agent of this incarnation, unless that was
 * done. false: it could not be done now. */
bool modules_tell_again(uint32_t incarnation);

/* In the fork child: its own lock is open, and all modules are to be announced anew, to another
 * ring, after modules_init. false: the loader's lock may be held by a thread that is not here, and
 * nothing in here may be called any more. */
bool modules_forked(void);
