#pragma once
/*
 * Hooks for an allocator that is linked into the program itself. Calls to it do not go through the
 * loader's tables, so the library writes a jump to the hook over the first instructions of each of
 * its functions. The agent has read the program's file. It tells the library which functions these
 * are, and the code that replaces the overwritten instructions (struct ring_entry). The library
 * only compares this with memory, and writes.
 *
 * This happens before main, while there is a single thread, and is never undone. No page is ever
 * writable and executable at the same time, nor for a moment not executable: the library writes
 * through /proc/self/mem. If this is refused, nothing is changed, and the agent reports it
 * (ring_header.patched).
 *
 * A stack walk never meets the moved instructions. They hold no call, so no return address lies in
 * them; and the jump leaves the stack as the caller made it, so the function's caller is the hook's
 * caller. A signal that arrives there finds a hook under way; its nested events have no stack.
 */
#include "proto/ring.h"
#include "proto/ring_handshake.h"

/* These allocate and free memory for RING_ENTRIES_MAX entries. patch_room returns NULL if patching
 * is impossible, or if there is no memory. */
struct ring_entry *patch_room(void);
void patch_room_done(struct ring_entry *entry);

/* Patches the functions. Returns how many were patched. */
unsigned patch_apply(const struct ring_entry *entry, unsigned count);
