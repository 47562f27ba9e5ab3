/* Collects the stacks with a frame that contains the search text, and the functions next to that
 * frame. See parts.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

int search_init(struct search *search)
{
	*search = (struct search){0};
	return top_init(&search->top, ANALYSIS_SEARCH_TOP);
}

/* Counts a neighbour once per stack, even if it occurs more often (recursion). `side` is 0 for
 * callers, 1 for callees. */
static int add_neighbour(struct search *s, unsigned side, const struct frames *frames,
			 uint32_t frame, const struct analysis_trace *trace, uint64_t stack)
{
	uint32_t label = frames->infos[frame].label;
	uint64_t *seen;

	if (frames->infos[frame].found)
		return 0;
	if (array_reserve(&s->seen, &s->seen_capacity, 2 * ((uint64_t)label + 1),
			  sizeof(*s->seen)) < 0)
		return -ENOMEM;
	seen = &s->seen[2 * label + side];
	if (*seen == stack)
		return 0;
	*seen = stack;
	return sums_add(side ? &s->callees : &s->callers, label, stack, trace->value, 0);
}

int search_add(struct search *s, const struct frames *frames, const struct analysis_trace *trace,
	       uint64_t stack)
{
	int r = 0;

	add_capped(&s->result.value, trace->value);
	s->result.traces++;
	for (uint32_t i = 0; !r && i < trace->count; i++) {
		if (!frames->infos[trace->frames[i]].found)
			continue;
		if (i)
			r = add_neighbour(s, 0, frames, trace->frames[i - 1], trace, stack);
		if (!r && i + 1 < trace->count)
			r = add_neighbour(s, 1, frames, trace->frames[i + 1], trace, stack);
	}
	return r ? r : top_add(&s->top, frames, trace);
}

int search_end(struct search *s, const struct frames *frames)
{
	int r = sums_rank(&s->callers, frames, ANALYSIS_NEIGHBOURS, &s->result.callers);

	if (!r)
		r = sums_rank(&s->callees, frames, ANALYSIS_NEIGHBOURS, &s->result.callees);
	top_end(&s->top, frames);
	s->result.top = s->top.kept;
	return r;
}

void search_done(struct search *s)
{
	top_done(&s->top);
	sums_done(&s->callers);
	sums_done(&s->callees);
	free(s->result.callers.list);
	free(s->result.callees.list);
	free(s->seen);
}
