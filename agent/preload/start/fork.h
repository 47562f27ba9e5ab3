#pragma once
/*
 * Fork children. A child shares the ring's memory with its parent and must not write to it: if a
 * signal handler forked, the hook that it interrupted continues in both processes. The child's view
 * of the ring is therefore replaced by private memory, immediately if fork() created the child, and
 * otherwise at its first hook.
 *
 *	parent:  fork_watch ... fork()
 *	child:   first hook -> shim_look (record/gate.c) -> start_again (start.c) -> fork_enter
 *	         -> agent_link: a ring of its own -> fork_watch
 *	agent:   session_begin (serve/session.c) -> a stream of its own
 *
 * In the child, a lock that another thread of the parent held is never released. The child resets
 * this library's locks. It cannot reset the loader's, so the parent delays the fork for a moment
 * while other threads look for modules. If the loader's lock may still be held, the child is only
 * counted.
 */
#include <stdbool.h>

#include "agent/preload/start/agent_link.h"

/* From here on, children are separated from this ring. If the terms say `follow`, fork() waits
 * until the loader is free. */
void fork_watch(const struct agent_terms *terms);

/* Called in a fork child: separates it from its parent. Returns the description of the parent. */
const struct agent_parent *fork_enter(void);
