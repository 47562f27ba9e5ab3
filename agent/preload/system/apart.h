#pragma once
/*
 * Events that do not concern heap blocks: mappings, pools, settings. They are rare, so all of them
 * are recorded with their stacks, in sampled mode, too.
 */
#include <stdint.h>

#include "agent/preload/record/note.h"

/* hook_enter and hook_leave as a single copy, for hooks that are rarely called. */
void rare_enter(struct hook *hook, struct ring_header *ring, uintptr_t frame);
void rare_leave(const struct hook *hook);
/* note and note_allocation, likewise. */
void rare_note(const struct hook *hook, const struct event *event);
void rare_allocation(struct hook *hook, unsigned kind, const void *p, size_t size);

/* Frequent hooks use inlined copies, unless code must be small. */
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

/* Records an event that has just happened, and leaves the hook. */
void apart_note(struct hook *hook, unsigned kind, uint64_t address, uint64_t size);

/* Records an event that already has its stamps. */
void apart_event(struct hook *hook, const struct event *event);
