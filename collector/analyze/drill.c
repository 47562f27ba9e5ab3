/* All stacks of one subsystem. See parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

int drill_add(struct drill *d, const struct analysis_trace *trace)
{
	struct analysis_traces *traces = &d->result.traces;
	struct analysis_trace copy = *trace;

	if (array_reserve(&traces->list, &d->capacity, (uint64_t)traces->count + 1,
			  sizeof(*traces->list)) < 0)
		return -ENOMEM;
	copy.frames = malloc(((size_t)trace->count + 1) * sizeof(*copy.frames));
	if (!copy.frames)
		return -ENOMEM;
	if (trace->count)
		memcpy(copy.frames, trace->frames, trace->count * sizeof(*copy.frames));
	traces->list[traces->count++] = copy;
	add_capped(&d->result.value, trace->value);
	return 0;
}

void drill_end(struct drill *d, const struct frames *frames)
{
	traces_sort(&d->result.traces, frames);
}

void drill_done(struct drill *d)
{
	traces_done(&d->result.traces);
}
