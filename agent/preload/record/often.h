#pragma once
/*
 * The functions that enter a hook, make its record and leave it exist twice. `rare_X` is a single
 * copy of X, shared by the hooks that programs seldom call. `often_X` is X inlined, for the hooks
 * that programs often call.
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
