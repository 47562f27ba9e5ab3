#pragma once
/*
 * Entering a hook, making its record and leaving it, twice: `rare_X` is a copy of X that all hooks
 * share which programs seldom call, and `often_X` is X inlined for those that they call often.
 */
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
