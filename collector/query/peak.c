/*
 * The moment at which most bytes were in use, exactly, without sorting all births and deaths.
 *
 * The time is cut into buckets. One pass sums births and deaths of each; then S(b), in use when bucket b begins, is known, and
 * within b it can't exceed U(b) = S(b) + births(b), while S(b + 1) was certainly reached. Only buckets whose U is at least the
 * largest S can hold the peak: a few. Their events are gathered in further passes, as many at a time as memory is allowed for,
 * sorted and followed one by one; a bucket with too many is cut again.
 *
 * All that happens in the same nanosecond counts as one step, so that the peak equals what is alive at its moment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/matcher.h"
#include "collector/query/view.h"

#include "base/ban.h"

#define BUCKETS	   16384
#define EVENTS_MAX (4u << 20)

struct step {
	uint64_t time_ns;
	int64_t bytes;
};

struct bucket {
	uint64_t births, deaths, events;
	uint64_t start; /* in use when it begins */
	bool gather;
};

struct peak {
	struct view *view;
	struct matcher all; /* every row; for cancelling */
	uint64_t best_bytes, best_ns;
	uint64_t in_use; /* while following */
	struct step *events;
	size_t events_max;
};

/* The part of the time that is looked at: buckets of `width` from `from`; the last ends at `to`, included. */
struct range {
	uint64_t from, to, width;
	struct bucket *buckets;
	uint32_t count;
};

static struct bucket *bucket_at(const struct range *range, uint64_t time_ns)
{
	if (time_ns < range->from || time_ns > range->to)
		return NULL;
	return &range->buckets[(time_ns - range->from) / range->width];
}

static uint64_t row_bytes(const struct row_block *block, uint32_t i)
{
	uint64_t weight = row_weight(block, i);

	return weight > block->size[i] && block->size[i] ? weight : block->size[i];
}

/* Calls for births (positive) and deaths (negative) of all rows; a death before its birth is one at its birth. */
static int each_event(struct peak *peak,
		      void (*event)(void *context, uint64_t time_ns, int64_t bytes), void *context,
		      struct err_text *err)
{
	for (uint32_t b = 0; b < recording_blocks(peak->all.recording); b++) {
		const struct row_block *block = recording_block(peak->all.recording, b);
		uint32_t count = matcher_block(&peak->all, block);

		if (matcher_cancelled(&peak->all, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t birth = block->birth_ns[i], death = block->death_ns[i];
			int64_t bytes = (int64_t)row_bytes(block, i);

			if (!bytes)
				continue;
			event(context, birth, bytes);
			if (death != NO_TIME)
				event(context, death < birth ? birth : death, -bytes);
		}
	}
	return 0;
}

static void sum_event(void *context, uint64_t time_ns, int64_t bytes)
{
	struct bucket *bucket = bucket_at(context, time_ns);

	if (!bucket)
		return;
	bucket->events++;
	if (bytes > 0)
		bucket->births += (uint64_t)bytes;
	else
		bucket->deaths += (uint64_t)-bytes;
}

struct gathering {
	const struct range *range;
	struct step *events;
	size_t count, max;
};

static void gather_event(void *context, uint64_t time_ns, int64_t bytes)
{
	struct gathering *g = context;
	const struct bucket *bucket = bucket_at(g->range, time_ns);

	if (bucket && bucket->gather && g->count < g->max)
		g->events[g->count++] = (struct step){time_ns, bytes};
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void settle(struct peak *peak, uint64_t in_use, uint64_t time_ns)
{
	if (in_use > peak->best_bytes) {
		peak->best_bytes = in_use;
		peak->best_ns = time_ns;
	}
}

/* Follows sorted events, beginning anew with each bucket. */
static void follow(struct peak *peak, const struct range *range, const struct step *events,
		   size_t count)
{
	const struct bucket *current = NULL;
	uint64_t in_use = 0;

	for (size_t i = 0; i < count; i++) {
		const struct bucket *bucket = bucket_at(range, events[i].time_ns);

		if (bucket != current)
			in_use = bucket->start;
		current = bucket;
		in_use += (uint64_t)events[i].bytes;
		if (i + 1 == count || events[i + 1].time_ns != events[i].time_ns)
			settle(peak, in_use, events[i].time_ns);
	}
}

static int search(struct peak *peak, uint64_t from, uint64_t to, uint64_t start,
		  struct err_text *err);

/* Gathers the buckets from `first` on that may hold the peak, until there is no more room. Moves `first` behind them. */
static int search_some(struct peak *peak, struct range *range, uint32_t *first, uint64_t reached,
		       struct err_text *err)
{
	struct gathering g = {.range = range, .events = peak->events, .max = peak->events_max};
	uint64_t expected = 0;
	uint32_t b;
	int r;

	for (b = *first; b < range->count; b++) {
		struct bucket *bucket = &range->buckets[b];
		uint64_t most = bucket->start + bucket->births;

		if (!bucket->events || most < reached || most <= peak->best_bytes)
			continue;
		if (bucket->events > g.max) {
			uint64_t begin = range->from + b * range->width;

			if (expected)
				break;
			*first = b + 1;
			if (range->width > 1)
				return search(peak, begin, begin + (range->width - 1),
					      bucket->start, err);
			settle(peak, bucket->start + bucket->births - bucket->deaths, begin);
			return 0;
		}
		if (expected + bucket->events > g.max)
			break;
		expected += bucket->events;
		bucket->gather = true;
	}
	r = expected ? each_event(peak, gather_event, &g, err) : 0;
	if (!r) {
		qsort(g.events, g.count, sizeof(*g.events), by_time);
		follow(peak, range, g.events, g.count);
	}
	for (; *first < b; ++*first)
		range->buckets[*first].gather = false;
	return r;
}

static int search(struct peak *peak, uint64_t from, uint64_t to, uint64_t start,
		  struct err_text *err)
{
	cleanup(cleanup_free) struct bucket *buckets = calloc(BUCKETS, sizeof(*buckets));
	struct range range = {
		.from = from, .to = to, .width = (to - from) / BUCKETS + 1, .buckets = buckets};
	uint64_t reached = 0;
	int r;

	if (!buckets)
		return -ENOMEM;
	range.count = (uint32_t)((to - from) / range.width + 1);
	r = each_event(peak, sum_event, &range, err);
	if (r < 0)
		return r;
	for (uint32_t b = 0; b < range.count; b++) {
		buckets[b].start = start;
		start += buckets[b].births - buckets[b].deaths;
		if (start > reached)
			reached = start;
	}
	for (uint32_t b = 0; !r && b < range.count;)
		r = search_some(peak, &range, &b, reached, err);
	return r;
}

static uint64_t last_birth(const struct peak *peak)
{
	uint64_t last = peak->all.end_ns;

	for (uint32_t b = 0; b < recording_blocks(peak->all.recording); b++) {
		const struct row_block *block = recording_block(peak->all.recording, b);

		if (block->count && block->max.birth_ns > last)
			last = block->max.birth_ns;
	}
	return last;
}

int peak_find(struct view *view, const struct filter *filter, size_t events_max, uint64_t *ret_ns,
	      struct err_text *err)
{
	struct filter all;
	struct peak peak = {.view = view, .events_max = events_max};
	uint64_t rows = recording_rows(view->recording);
	int r;

	filter_init(&all);
	all.cancelled = filter->cancelled;
	r = matcher_init(&peak.all, view, &all, err);
	if (r < 0)
		return r;
	if (rows < events_max / 2)
		peak.events_max = 2 * rows + 1;
	peak.events = malloc(peak.events_max * sizeof(*peak.events));
	r = peak.events ? search(&peak, 0, last_birth(&peak), 0, err) : -ENOMEM;
	free(peak.events);
	matcher_done(&peak.all);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (!r)
		*ret_ns = peak.best_ns;
	return r;
}

int peak_moment(struct view *view, const struct filter *filter, uint64_t *ret_ns,
		struct err_text *err)
{
	uint64_t ns = 0;
	bool known;
	int r;

	pthread_mutex_lock(&view->lock);
	known = view->peak_known;
	ns = view->peak_ns;
	pthread_mutex_unlock(&view->lock);
	if (!known) {
		r = peak_find(view, filter, EVENTS_MAX, &ns, err);
		if (r < 0)
			return r;
		pthread_mutex_lock(&view->lock);
		view->peak_known = true;
		view->peak_ns = ns;
		pthread_mutex_unlock(&view->lock);
	}
	*ret_ns = ns;
	return 0;
}

int value_moment(struct view *view, enum value value, uint64_t at_ns, const struct filter *filter,
		 uint64_t *ret_ns, struct err_text *err)
{
	if (value == VALUE_PEAK)
		return peak_moment(view, filter, ret_ns, err);
	*ret_ns = at_ns == NO_TIME ? NO_TIME - 1 : at_ns;
	return 0;
}
