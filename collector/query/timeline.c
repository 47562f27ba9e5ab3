/*
 * What was in use over time, in buckets of equal width, exact at any width: two passes. The first sums births and deaths by
 * bucket, which tells what was in use when each bucket begins. The second follows the single births and deaths inside the
 * buckets, as many buckets at a time as memory is allowed for, and tells the lowest and highest that was reached. A bucket with
 * more of them than that is cut into narrower ones, whose answers are put together.
 *
 * All that happens in the same nanosecond is one step. Sums are whole numbers: a block that was sampled stands for weight bytes
 * and for weight / size blocks in units of 1 / BLOCK_UNIT, so that what a birth added is what its death takes away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/matcher.h"
#include "collector/query/timeline.h"
#include "collector/query/view.h"

#include "base/ban.h"

#define EVENTS_MAX (4u << 20)
#define BLOCK_UNIT 1048576u
#define CUTS	   256

struct step {
	uint64_t time_ns;
	int64_t bytes, blocks;
};

struct sums {
	int64_t bytes, blocks;
};

struct bucket {
	struct sums births, deaths, start, end, least, most;
	uint64_t events;
	bool gather, reached; /* reached: least and most hold something */
};

struct range {
	uint64_t from, width, to; /* buckets of `width` from `from` on; nothing from `to` on */
	struct bucket *buckets;
	uint32_t count;
};

struct timing {
	struct matcher m;
	struct step *events;
	size_t events_max, count;
	bool leaked_only;
	struct err_text *err;
};

typedef void event_visitor(struct timing *t, const struct range *range, const struct step *step);

static struct sums row_sums(const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i), s = size ? size : 1;

	if (weight <= size || weight <= 1)
		return (struct sums){(int64_t)size, BLOCK_UNIT};
	return (struct sums){size ? (int64_t)weight : 0,
			     (int64_t)((double)weight / (double)s * BLOCK_UNIT + 0.5)};
}

static void visit_row(struct timing *t, const struct range *range, const struct row_block *block,
		      uint32_t i, event_visitor *visit)
{
	struct sums sums = row_sums(block, i);
	uint64_t birth = block->birth_ns[i], death = block->death_ns[i];

	visit(t, range, &(struct step){birth, sums.bytes, sums.blocks});
	if (death != NO_TIME)
		visit(t, range,
		      &(struct step){death < birth ? birth : death, -sums.bytes, -sums.blocks});
}

static int each_event(struct timing *t, const struct range *range, event_visitor *visit)
{
	for (uint32_t b = 0; b < recording_blocks(t->m.recording); b++) {
		const struct row_block *block = recording_block(t->m.recording, b);
		uint32_t count = matcher_block(&t->m, block);

		if (matcher_cancelled(&t->m, t->err))
			return -ECANCELED;
		if (block->count && block->min.birth_ns >= range->to)
			continue;
		for (uint32_t i = 0; i < count; i++)
			if (matcher_row(&t->m, block, i) &&
			    (!t->leaked_only || row_leaked(block, i)))
				visit_row(t, range, block, i, visit);
	}
	return 0;
}

/* The first pass. What comes before the range is in the first bucket's start. */
static void sum_event(struct timing *t, const struct range *range, const struct step *step)
{
	struct bucket *bucket;
	struct sums *to;

	(void)t;
	if (step->time_ns >= range->to)
		return;
	if (step->time_ns < range->from) {
		range->buckets[0].start.bytes += step->bytes;
		range->buckets[0].start.blocks += step->blocks;
		return;
	}
	bucket = &range->buckets[(step->time_ns - range->from) / range->width];
	bucket->events++;
	to = step->blocks > 0 ? &bucket->births : &bucket->deaths;
	to->bytes += llabs(step->bytes);
	to->blocks += llabs(step->blocks);
}

static void gather_event(struct timing *t, const struct range *range, const struct step *step)
{
	if (step->time_ns >= range->to || step->time_ns < range->from || t->count == t->events_max)
		return;
	if (range->buckets[(step->time_ns - range->from) / range->width].gather)
		t->events[t->count++] = *step;
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void reach(struct bucket *bucket, struct sums at)
{
	if (!bucket->reached)
		bucket->least = bucket->most = at;
	bucket->reached = true;
	if (at.bytes < bucket->least.bytes)
		bucket->least.bytes = at.bytes;
	if (at.bytes > bucket->most.bytes)
		bucket->most.bytes = at.bytes;
	if (at.blocks < bucket->least.blocks)
		bucket->least.blocks = at.blocks;
	if (at.blocks > bucket->most.blocks)
		bucket->most.blocks = at.blocks;
}

/* Follows the gathered events of one bucket, which begins at `begin_ns`; they are sorted. */
static void follow(struct bucket *bucket, uint64_t begin_ns, const struct step *events,
		   size_t count)
{
	struct sums at = bucket->start;

	if (!count || events[0].time_ns > begin_ns)
		reach(bucket, at);
	for (size_t i = 0; i < count; i++) {
		at.bytes += events[i].bytes;
		at.blocks += events[i].blocks;
		if (i + 1 == count || events[i + 1].time_ns != events[i].time_ns)
			reach(bucket, at);
	}
}

static int gather(struct timing *t, struct range *range, uint32_t first, uint32_t end)
{
	size_t at = 0;
	int r;

	t->count = 0;
	r = each_event(t, range, gather_event);
	if (r < 0)
		return r;
	qsort(t->events, t->count, sizeof(*t->events), by_time);
	for (uint32_t b = first; b < end; b++) {
		uint64_t begin = range->from + b * range->width;
		size_t n = range->buckets[b].events;

		range->buckets[b].gather = false;
		follow(&range->buckets[b], begin, t->events + at, n);
		at += n;
	}
	return 0;
}

static int fill(struct timing *t, struct range *range);

/* A bucket with too many events to hold: narrower ones. */
static int cut(struct timing *t, const struct range *range, uint32_t b)
{
	struct bucket *bucket = &range->buckets[b];
	uint64_t begin = range->from + b * range->width,
		 end = range->to - begin < range->width ? range->to : begin + range->width;
	cleanup(cleanup_free) struct bucket *cuts = calloc(CUTS, sizeof(*cuts));
	struct range part = {.from = begin,
			     .to = end,
			     .width = (end - begin + CUTS - 1) / CUTS,
			     .buckets = cuts};
	int r;

	if (!cuts)
		return -ENOMEM;
	if (end - begin == 1) { /* one nanosecond is one step */
		reach(bucket, bucket->end);
		return 0;
	}
	part.count = (uint32_t)((end - begin + part.width - 1) / part.width);
	r = fill(t, &part);
	for (uint32_t i = 0; !r && i < part.count; i++) {
		reach(bucket, cuts[i].least);
		reach(bucket, cuts[i].most);
	}
	return r;
}

static int fill(struct timing *t, struct range *range)
{
	struct bucket *buckets = range->buckets;
	int r = each_event(t, range, sum_event);

	for (uint32_t b = 0; b < range->count; b++) {
		if (b)
			buckets[b].start = buckets[b - 1].end;
		buckets[b].end.bytes =
			buckets[b].start.bytes + buckets[b].births.bytes - buckets[b].deaths.bytes;
		buckets[b].end.blocks = buckets[b].start.blocks + buckets[b].births.blocks -
					buckets[b].deaths.blocks;
	}
	for (uint32_t b = 0, end; !r && b < range->count; b = end) {
		uint64_t events = 0;

		for (end = b; end < range->count && events + buckets[end].events <= t->events_max;
		     end++) {
			events += buckets[end].events;
			buckets[end].gather = true;
		}
		if (end > b)
			r = gather(t, range, b, end);
		else
			r = cut(t, range, end++);
	}
	return r;
}

static uint64_t whole(int64_t units)
{
	return units > 0 ? ((uint64_t)units + BLOCK_UNIT / 2) / BLOCK_UNIT : 0;
}

static struct timeline_bucket result_of(const struct range *range, uint32_t b)
{
	const struct bucket *bucket = &range->buckets[b];

	return (struct timeline_bucket){
		.start_ns = range->from + b * range->width,
		.bytes = (uint64_t)bucket->end.bytes,
		.bytes_min = (uint64_t)bucket->least.bytes,
		.bytes_max = (uint64_t)bucket->most.bytes,
		.blocks = whole(bucket->end.blocks),
		.blocks_min = whole(bucket->least.blocks),
		.blocks_max = whole(bucket->most.blocks),
		.bytes_change = bucket->end.bytes - bucket->start.bytes,
		.blocks_change = (int64_t)whole(bucket->births.blocks) -
				 (int64_t)whole(bucket->deaths.blocks),
		.allocations = whole(bucket->births.blocks),
		.deallocations = whole(bucket->deaths.blocks),
		.allocated_bytes = (uint64_t)bucket->births.bytes,
		.freed_bytes = (uint64_t)bucket->deaths.bytes,
	};
}

static int make(struct timing *t, struct range *range, struct timeline *ret_timeline)
{
	struct timeline timeline = {
		.width_ns = range->width, .from_ns = range->from, .to_ns = range->to};
	int r = fill(t, range);

	if (r < 0)
		return r;
	timeline.list = calloc(range->count, sizeof(*timeline.list));
	if (!timeline.list)
		return -ENOMEM;
	timeline.count = range->count;
	for (uint32_t b = 0; b < range->count; b++)
		timeline.list[b] = result_of(range, b);
	*ret_timeline = timeline;
	return 0;
}

static uint64_t last_moment(const struct matcher *m)
{
	uint64_t last = m->end_ns;

	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);

		if (block->count && block->max.birth_ns > last)
			last = block->max.birth_ns;
	}
	return last;
}

int timeline_find(struct view *view, const struct filter *filter,
		  const struct timeline_question *question, size_t events_max,
		  struct timeline *ret_timeline, struct err_text *err)
{
	struct timing t = {
		.leaked_only = question->leaked_only, .events_max = events_max, .err = err};
	uint64_t rows = recording_rows(view->recording), span, end;
	uint32_t buckets = question->buckets ? question->buckets : 1;
	struct range range = {.from = question->from_ns};
	int r = matcher_init(&t.m, view, filter, err);

	if (r < 0)
		return r;
	end = last_moment(&t.m) + 1;
	range.to = question->to_ns < end ? question->to_ns + 1 : end;
	if (range.from >= range.to)
		range.from = range.to - 1;
	span = range.to - range.from;
	range.width = (span + buckets - 1) / buckets;
	range.count = (uint32_t)((span + range.width - 1) / range.width);
	if (2 * rows < t.events_max)
		t.events_max = 2 * rows + 1;
	t.events = malloc(t.events_max * sizeof(*t.events));
	range.buckets = calloc(range.count, sizeof(*range.buckets));
	r = t.events && range.buckets ? make(&t, &range, ret_timeline) : -ENOMEM;
	free(range.buckets);
	free(t.events);
	matcher_done(&t.m);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

int query_timeline(struct view *view, const struct filter *filter,
		   const struct timeline_question *question, struct timeline *ret_timeline,
		   struct err_text *err)
{
	return timeline_find(view, filter, question, EVENTS_MAX, ret_timeline, err);
}

void timeline_done(struct timeline *timeline)
{
	free(timeline->list);
	*timeline = (struct timeline){0};
}
