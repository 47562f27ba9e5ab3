/* Events that are not blocks of the heap. apart.h describes them. */
#include "collector/recording/apart.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/recording_parts.h"
#include "proto/columns.h"

#include "base/ban.h"

void aparts_done(struct aparts *aparts)
{
	free(aparts->list);
	*aparts = (struct aparts){0};
}

int aparts_add(struct aparts *aparts, const struct event *event)
{
	if (aparts->count == APARTS_MAX)
		return 0;
	if (aparts->count == aparts->capacity) {
		uint32_t capacity = aparts->capacity ? aparts->capacity * 2 : 64;
		struct apart_info *list =
			reallocarray(aparts->list, capacity, sizeof(*aparts->list));

		if (!list)
			return -ENOMEM;
		aparts->list = list;
		aparts->capacity = capacity;
	}
	aparts->list[aparts->count++] = (struct apart_info){
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

uint32_t recording_aparts(const struct recording *r)
{
	return r->aparts.count;
}

const struct apart_info *recording_apart(const struct recording *r, uint32_t index)
{
	return index < r->aparts.count ? &r->aparts.list[index] : NULL;
}
