#pragma once
/*
 * What happens at the first hooked call of the process: the next allocator is looked for, then an
 * agent, then recording begins. The process goes through the phases once, in one thread; others
 * forward meanwhile.
 *
 *	NEW -> RESOLVING -> LINKING -> RUNNING (recorded or not)
 *
 * Our constructor is such a call, so that the first one is no vfork child's, which runs in its
 * parent's memory.
 */
#include <stdbool.h>

/* Begins if nobody has. true: the next allocator is known, and recording if there is an agent;
 * false: it is being looked for, by this thread or another. Keeps errno. */
bool start_resolved(void);

/* Has our constructor not run yet? It begins; before it, the program's own allocator, which may
 * call us while it sets itself up and holds a lock, must not be made to begin. */
bool start_early(void);
void start_constructed(void);
