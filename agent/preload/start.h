#pragma once
/*
 * What happens at the first hooked call of the process: the next allocator is looked for, then an
 * agent, then recording begins. The process goes through the phases once, in one thread; others
 * forward meanwhile.
 *
 *	NEW -> RESOLVING -> LINKING -> RUNNING (recorded or not)
 *
 * If that call is a vfork child's, which runs in its parent's memory, only the allocator is looked
 * for: POSTPONED, until the parent itself calls.
 */
#include <stdbool.h>

/* Begins if nobody has. true: the next allocator is known, and recording if there is an agent;
 * false: it is being looked for, by this thread or another. Keeps errno. */
bool start_resolved(void);
