#pragma once
/*
 * Events that are no blocks of the heap: mappings, pools, settings. They are rare, so all of them
 * are recorded, also in the sampled mode, with their stacks.
 */
#include <stdint.h>

#include "agent/preload/note.h"

/* hook_enter, and a hook's end, in one copy for all that are seldom called. */
void rare_enter(struct hook *hook, struct ring_header *ring, uintptr_t frame);
void rare_leave(const struct hook *hook);
/* note_allocation likewise. */
void rare_allocation(struct hook *hook, unsigned kind, const void *p, size_t size);

/* Records what has happened just now, and leaves the hook. */
void apart_note(struct hook *hook, unsigned kind, uint64_t address, uint64_t size);

/* Records an event that has its stamps. */
void apart_event(struct hook *hook, const struct event *event);
