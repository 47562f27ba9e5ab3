#pragma once
/*
 * The first hooked call of the process looks for the next allocator, then for an agent, and then
 * starts recording. One thread takes the process through these phases; others only forward
 * meanwhile.
 *
 *	NEW -> RESOLVING -> LINKING -> RUNNING (recorded or not)
 *
 * From RUNNING the process goes back to LINKING in a fork child, and if an agent comes later.
 *
 * This library's constructor makes a hooked call, so that the first one never comes from a vfork
 * child, which runs in its parent's memory.
 */
#include <stdbool.h>

/* Starts the library, unless a thread has done so. Returns true if the next allocator is known;
 * recording has then begun if there is an agent. Returns false while this thread or another is
 * looking for the allocator. Preserves errno. */
bool start_resolved(void);

/* Returns true if this library's constructor, which starts the library, has not run yet. Until
 * then, a call by the program's own allocator must not start it: this allocator may be initialising
 * itself and hold a lock. */
bool start_early(void);
void start_constructed(void);
