#pragma once
/*
 * Fork children. A child shares the ring's memory with its parent and must not write a word of it:
 * the hook that was under way when a signal's handler forked goes on in both. So the child's view
 * of the ring is replaced by private memory, at once where fork() made it, else at its first hook.
 *
 *	parent:  fork_watch ... fork()
 *	child:   first hook -> start_again (start.c) -> fork_enter -> a ring of its own, fork_watch
 *
 * What the child may wait for: a lock that another thread of the parent held is never released
 * here. Ours are reset. The loader's cannot be, so the fork is held back a moment while other
 * threads look for modules, and a child of which that is not certain is only counted.
 */
#include <stdbool.h>

#include "agent/preload/start/agent_link.h"

/* From here on children are parted from this ring, and those that make fork() with the terms'
 * `follow` find the loader free. */
void fork_watch(const struct agent_terms *terms);

/* In a fork child: parts it from its parent, which it gives. */
const struct agent_parent *fork_enter(void);
