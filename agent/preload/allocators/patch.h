#pragma once
/*
 * Hooks for an allocator that is linked into the program itself, whose calls pass no word of the
 * loader: a jump to the hook is written where each of its functions begins. Which, and what does
 * the same as the instructions that make room, says the agent, which has read the program's file
 * (struct ring_entry); here it is only compared with what is in memory, and written.
 *
 * It is done before main, while there is one thread, and never undone. No page is ever writable and
 * executable, or for a moment not executable: all is written through /proc/self/mem. Where that is
 * refused, nothing is changed, and the agent says so (ring_header.patched).
 *
 * A walk of the stack never meets what was moved: it holds no call, so no return address lies in
 * it, and the jump leaves the stack as the caller made it, so the caller's is the hook's. A signal
 * that comes just there finds a hook under way, whose nested events have no stack.
 */
#include "proto/ring.h"

/* Memory for RING_ENTRIES_MAX entries, and its end; NULL: it can't be done, it is too late
 * (start_early), or there is none. */
struct ring_entry *patch_room(void);
void patch_room_done(struct ring_entry *entry);

/* How many functions are patched now. */
unsigned patch_apply(const struct ring_entry *entry, unsigned count);
