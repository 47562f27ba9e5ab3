/* Events that are not blocks of the heap. other_events.h describes them. */
#include "collector/recording/other_events.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/recording/info.h"
#include "proto/columns.h"

#include "base/ban.h"

void other_events_done(struct other_events *other_events)
{
	free(other_events->list);
	*other_events = (struct other_events){0};
}

int other_events_add(struct other_events *other_events, const struct event *event)
{
	if (other_events->count == OTHER_EVENTS_MAX)
		return 0;
	if (other_events->count == other_events->capacity) {
		uint32_t capacity = other_events->capacity ? other_events->capacity * 2 : 64;
		struct other_event_info *list =
			reallocarray(other_events->list, capacity, sizeof(*other_events->list));

		if (!list)
			return -ENOMEM;
		other_events->list = list;
		other_events->capacity = capacity;
	}
	other_events->list[other_events->count++] = (struct other_event_info){
		.time_ns = event->time_ns,
		.address = event->address,
		.old_address = event->old_address,
		.size = event->size,
		.thread = event->thread,
		.stack = event->stack,
		.kind = event->kind,
	};
	return 0;
}
