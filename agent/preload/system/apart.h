#pragma once
/*
 * Events that are no blocks of the heap: mappings, pools, settings. They are rare, so all of them
 * are recorded, also in the sampled mode, with their stacks.
 */
#include <stdint.h>

#include "agent/preload/record/note.h"

/* hook_enter, and a hook's end, in one copy for all that are seldom called. */
void rare_enter(struct hook *hook, struct ring_header *ring, uintptr_t frame);
void rare_leave(const struct hook *hook);
/* note and note_allocation likewise. */
void rare_note(const struct hook *hook, const struct event *event);
void rare_allocation(struct hook *hook, unsigned kind, const void *p, size_t size);

/* What is called all the time has copies of its own, but where code has to be small. */
#if ARCH_SMALL
#define often_enter	 rare_enter
#define often_leave	 rare_leave
#define often_note	 rare_note
#define often_allocation rare_allocation
#else
#define often_enter	 hook_enter
#define often_leave	 hook_leave
#define often_note	 note
#define often_allocation note_allocation
#endif

/* Records what has happened just now, and leaves the hook. */
void apart_note(struct hook *hook, unsigned kind, uint64_t address, uint64_t size);

/* Records an event that has its stamps. */
void apart_event(struct hook *hook, const struct event *event);
