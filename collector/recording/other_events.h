#pragma once
/*
 * Events that are not blocks of the heap: the program's own mappings and pools, and settings of the
 * allocator (event_space in proto/event.h). They are few compared with allocations and are kept as
 * they arrive, in the order of the batches. That is the order of their times, except for events of
 * several threads at the same moment.
 */
#include "proto/columns.h"
#include "collector/recording/info.h"

/* kept; further ones are only counted (ledger_info.stored_apart) */
#define OTHER_EVENTS_MAX (1u << 20)

struct other_events {
	struct other_event_info *list;
	uint32_t count, capacity;
};

void other_events_done(struct other_events *other_events);
/* Adds an event whose stack is a node of this recording. Returns 0 or -ENOMEM. */
int other_events_add(struct other_events *other_events, const struct event *event);
