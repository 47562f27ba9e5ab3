#pragma once
/*
 * Events that are no blocks of the heap: mappings and pools of the program's own, settings of the
 * allocator (event_space in proto/event.h). They are few beside allocations, and kept as they came:
 * in the order of the batches, which is that of their times but for what threads did within the
 * same moment.
 */
#include "proto/columns.h"
#include "collector/recording/info.h"

#define APARTS_MAX (1u << 20) /* kept; more are counted only (ledger_info.stored_apart) */

struct aparts {
	struct apart_info *list;
	uint32_t count, capacity;
};

void aparts_done(struct aparts *aparts);
/* `event` with the node of its stack. 0 or -ENOMEM. */
int aparts_add(struct aparts *aparts, const struct event *event);
