/* Keeps the heaviest stacks, in a heap that evicts the lightest. See parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/analyze/parts.h"

#include "base/ban.h"

/* Compares by (value, text), like the scripts, which list the largest first. */
static int top_compare(const struct frames *frames, const struct analysis_trace *a,
		       const struct analysis_trace *b)
{
	if (a->value != b->value)
		return a->value > b->value ? 1 : -1;
	return stacks_compare(frames, a, b);
}

int top_init(struct top *top, uint32_t most)
{
	*top = (struct top){.most = most};
	top->kept.list = calloc((size_t)most + 1, sizeof(*top->kept.list));
	return top->kept.list ? 0 : -ENOMEM;
}

static void sink(struct top *top, const struct frames *frames, uint32_t i)
{
	struct analysis_trace *list = top->kept.list, trace = list[i];

	for (uint32_t child; (child = 2 * i + 1) < top->kept.count; i = child) {
		if (child + 1 < top->kept.count &&
		    top_compare(frames, &list[child + 1], &list[child]) < 0)
			child++;
		if (top_compare(frames, &trace, &list[child]) <= 0)
			break;
		list[i] = list[child];
	}
	list[i] = trace;
}

static void rise(struct top *top, const struct frames *frames, uint32_t i)
{
	struct analysis_trace *list = top->kept.list, trace = list[i];

	for (uint32_t parent; i; i = parent) {
		parent = (i - 1) / 2;
		if (top_compare(frames, &list[parent], &trace) <= 0)
			break;
		list[i] = list[parent];
	}
	list[i] = trace;
}

/* Copies `trace` to `to`, and reuses the memory there. */
static int top_put(struct analysis_trace *to, const struct analysis_trace *trace)
{
	uint32_t *frames = to->frames;

	if (!frames || to->count < trace->count)
		frames = reallocarray(frames, (size_t)trace->count + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	if (trace->count)
		memcpy(frames, trace->frames, trace->count * sizeof(*frames));
	*to = *trace;
	to->frames = frames;
	return 0;
}

int top_add(struct top *top, const struct frames *frames, const struct analysis_trace *trace)
{
	struct analysis_trace *list = top->kept.list;

	if (top->kept.count < top->most) {
		if (top_put(&list[top->kept.count], trace) < 0)
			return -ENOMEM;
		rise(top, frames, top->kept.count++);
		return 0;
	}
	if (!top->most || trace->value < list[0].value || top_compare(frames, trace, &list[0]) <= 0)
		return 0;
	if (top_put(&list[0], trace) < 0)
		return -ENOMEM;
	sink(top, frames, 0);
	return 0;
}

static int top_heaviest_first(const void *left, const void *right, void *frames)
{
	return -top_compare(frames, left, right);
}

void traces_sort(struct analysis_traces *traces, const struct frames *frames)
{
	if (traces->count)
		qsort_r(traces->list, traces->count, sizeof(*traces->list), top_heaviest_first,
			(void *)(uintptr_t)frames);
}

void top_end(struct top *top, const struct frames *frames)
{
	traces_sort(&top->kept, frames);
}

void traces_done(struct analysis_traces *traces)
{
	for (uint32_t i = 0; i < traces->count; i++)
		free(traces->list[i].frames);
	free(traces->list);
	*traces = (struct analysis_traces){0};
}

void top_done(struct top *top)
{
	traces_done(&top->kept);
}
