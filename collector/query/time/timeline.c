/*
 * Computes what was in use over time, in buckets of equal width, exact at any width. The index of
 * usage over time (usage_index.h) knows what happened between any two moments. The view keeps the
 * indexes of all rows and of the last filter.
 *
 * All events of one nanosecond are one step. Sums are integers: a sampled block stands for weight
 * bytes and for weight / size blocks in units of 1 / HISTORY_UNIT, so that a death subtracts
 * exactly what its birth added.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/time/filtered_index.h"
#include "collector/query/time/timeline.h"
#include "collector/query/time/usage_index.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

static uint64_t whole(int64_t units)
{
	return units > 0 ? ((uint64_t)units + HISTORY_UNIT / 2) / HISTORY_UNIT : 0;
}

static struct timeline_bucket result_of(const struct usage_span *span)
{
	return (struct timeline_bucket){
		.start_ns = span->from_ns,
		.bytes = (uint64_t)span->end.bytes,
		.bytes_min = (uint64_t)span->least.bytes,
		.bytes_max = (uint64_t)span->most.bytes,
		.blocks = whole(span->end.units),
		.blocks_min = whole(span->least.units),
		.blocks_max = whole(span->most.units),
		.bytes_change = (int64_t)((uint64_t)span->end.bytes - (uint64_t)span->start.bytes),
		.blocks_change =
			(int64_t)whole(span->births.units) - (int64_t)whole(span->deaths.units),
		.allocations = whole(span->births.units),
		.deallocations = whole(span->deaths.units),
		.allocated_bytes = (uint64_t)span->births.bytes,
		.freed_bytes = (uint64_t)span->deaths.bytes,
	};
}

/* What the question asks for in addition to the buckets. */
struct peaks {
	bool wanted, blocks;
	uint64_t *moments;
};

static int timeline_fill(struct timeline *timeline, const struct usage_index *index,
			 const struct history_of *of, struct peaks *peaks, struct err_text *err)
{
	cleanup(cleanup_free) struct usage_span *spans = calloc(timeline->count, sizeof(*spans));
	int r;

	timeline->list = calloc(timeline->count, sizeof(*timeline->list));
	peaks->moments = peaks->wanted ? calloc(timeline->count, sizeof(*peaks->moments)) : NULL;
	if (!spans || !timeline->list || (peaks->wanted && !peaks->moments))
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t b = 0; b < timeline->count; b++) {
		uint64_t from = timeline->from_ns + b * timeline->width_ns,
			 left = timeline->to_ns - from;

		spans[b].from_ns = from;
		spans[b].to_ns = from + (left < timeline->width_ns ? left : timeline->width_ns);
	}
	r = usage_index_spans(index, of, spans, timeline->count, err);
	if (!r && peaks->wanted)
		r = usage_index_peaks(index, of, spans, timeline->count, peaks->blocks,
				      peaks->moments, err);
	for (uint32_t b = 0; !r && b < timeline->count; b++)
		timeline->list[b] = result_of(&spans[b]);
	return r;
}

static int ask(struct view *view, const struct history_of *of, struct timeline *timeline,
	       struct peaks *peaks, struct err_text *err)
{
	const struct usage_index *index;
	struct filtered_index *filtered = NULL;
	int r;

	if (of->matcher->everything) {
		r = view_usage_index(view, of->matcher->filter, of->matcher->leaked_only, &index,
				     err);
	} else {
		r = filtered_index_get(view, of, &filtered, err);
		index = r ? NULL : filtered_index_of(filtered);
	}
	if (!r)
		r = timeline_fill(timeline, index, of, peaks, err);
	filtered_index_put(filtered);
	return r;
}

static uint64_t last_moment(const struct matcher *m)
{
	uint64_t last = m->end_ns;

	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *zone = recording_zone(m->recording, b);

		if (zone->count && zone->max.birth_ns > last)
			last = zone->max.birth_ns;
	}
	return last < NO_TIME ? last : NO_TIME - 1;
}

static int timeline_make(struct view *view, const struct matcher *m,
			 const struct timeline_question *question, struct peaks *peaks,
			 struct timeline *ret_timeline, struct err_text *err)
{
	struct timeline timeline = {.from_ns = question->from_ns};
	uint32_t buckets = question->buckets ? question->buckets : 1;
	uint64_t span, end = last_moment(m) + 1;
	int r;

	timeline.to_ns = question->to_ns < end ? question->to_ns + 1 : end;
	if (timeline.from_ns >= timeline.to_ns)
		timeline.from_ns = timeline.to_ns - 1;
	span = timeline.to_ns - timeline.from_ns;
	timeline.width_ns = span / buckets + (span % buckets != 0);
	timeline.count = (uint32_t)(span / timeline.width_ns + (span % timeline.width_ns != 0));
	r = ask(view, &(struct history_of){.matcher = m}, &timeline, peaks, err);
	if (r < 0)
		timeline_done(&timeline);
	else
		*ret_timeline = timeline;
	return r;
}

int timeline_with_peaks(struct view *view, const struct matcher *m,
			const struct timeline_question *question, bool blocks,
			struct timeline *ret_timeline, uint64_t **ret_moments, struct err_text *err)
{
	struct peaks peaks = {.wanted = true, .blocks = blocks};
	int r = timeline_make(view, m, question, &peaks, ret_timeline, err);

	*ret_moments = peaks.moments;
	return r;
}

int query_timeline(struct view *view, const struct filter *filter,
		   const struct timeline_question *question, struct timeline *ret_timeline,
		   struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (r < 0)
		return r;
	m.hides_survivors = false;
	if (question->leaked_only)
		matcher_only_leaked(&m);
	r = timeline_make(view, &m, question, &(struct peaks){0}, ret_timeline, err);
	matcher_done(&m);
	return r;
}

void timeline_done(struct timeline *timeline)
{
	free(timeline->list);
	*timeline = (struct timeline){0};
}
