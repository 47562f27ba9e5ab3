#pragma once
/*
 * Events that do not concern heap blocks: mappings, pools, settings. They are rare, so all of them
 * are recorded with their stacks, in sampled mode, too.
 */
#include <stdint.h>

#include "agent/preload/record/note.h"

/* Records an event that has just happened, and leaves the hook. */
void apart_note(struct hook *hook, unsigned kind, uint64_t address, uint64_t size);

/* Records an event that already has its stamps. */
void apart_event(struct hook *hook, const struct event *event);
