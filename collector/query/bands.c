/* Bands over time. See bands.h. */
#include "collector/query/bands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#include "base/ban.h"

/* Sums of what a stranger's recording says may wrap around. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* What happened in a bucket. */
struct stretch {
	int64_t bucket; /* -1: before the first */
	int64_t total;	/* the highest, of all bands; INT64_MIN: none yet */
};

/* Of the whole and of a part: relative to where the part began. */
struct bands {
	const struct bands_question *question;
	int64_t *now, total;
	/* Of a part: */
	struct stretch *stretches;
	int64_t *values; /* of each stretch: the bands at its highest moment, and at its end */
	uint32_t count, stretch_room, value_room;
	bool fresh; /* the last one's highest moment is now */
	/* Of the whole: */
	int64_t *filled;  /* the answer */
	int64_t *totals;  /* by bucket */
	uint32_t buckets; /* that are filled */
};

static void bands_free(void *part)
{
	struct bands *b = part;

	free(b->now);
	free(b->stretches);
	free(b->values);
	free(b);
}

static int bands_new(void *context, void **ret_part)
{
	const struct bands *whole = context;
	struct bands *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	part->question = whole->question;
	part->now = calloc(whole->question->count, sizeof(*part->now));
	return part->now ? 0 : -ENOMEM;
}

/* ---- a part ---- */

static int64_t *highest_of(const struct bands *b, uint32_t stretch)
{
	return b->values + (size_t)stretch * 2 * b->question->count;
}

static int64_t *end_of(const struct bands *b, uint32_t stretch)
{
	return highest_of(b, stretch) + b->question->count;
}

static void copy_now(const struct bands *b, int64_t *to)
{
	memcpy(to, b->now, b->question->count * sizeof(*to));
}

static void settle(struct bands *b)
{
	if (b->fresh)
		copy_now(b, highest_of(b, b->count - 1));
	b->fresh = false;
}

static void close_stretch(struct bands *b)
{
	settle(b);
	if (b->count)
		copy_now(b, end_of(b, b->count - 1));
}

/* `quiet`: its first event is not at its very beginning, so what was in use before counts, too. */
static int open_stretch(struct bands *b, int64_t bucket, bool quiet)
{
	uint64_t count = (uint64_t)b->count + 1;

	close_stretch(b);
	if (array_reserve(&b->stretches, &b->stretch_room, count, sizeof(*b->stretches)) < 0 ||
	    array_reserve(&b->values, &b->value_room, count * 2 * b->question->count,
			  sizeof(*b->values)) < 0)
		return -ENOMEM;
	b->stretches[b->count++] = (struct stretch){bucket, quiet ? b->total : INT64_MIN};
	b->fresh = quiet;
	return 0;
}

static int64_t value_of(const struct bands *b, const struct history_event *e)
{
	return b->question->blocks ? e->units : e->bytes;
}

/* All that happens in a nanosecond is one step. */
static void take_step(struct bands *b, const struct history_event *events, size_t count)
{
	const struct bands_question *q = b->question;
	struct stretch *stretch = &b->stretches[b->count - 1];
	int64_t change = 0;

	for (size_t i = 0; i < count; i++)
		change = plus(change, value_of(b, &events[i]));
	if (change <= 0)
		settle(b);
	for (size_t i = 0; i < count; i++) {
		uint32_t node = q->of_node && events[i].node > q->nodes ? 0 : events[i].node;
		uint32_t band = q->of_node ? q->of_node[node] : node;

		b->now[band] = plus(b->now[band], value_of(b, &events[i]));
	}
	b->total = plus(b->total, change);
	if (b->total > stretch->total) {
		stretch->total = b->total;
		b->fresh = true;
	}
}

static int64_t bucket_of(const struct bands_question *q, uint64_t time_ns)
{
	return time_ns < q->from_ns ? -1 : (int64_t)((time_ns - q->from_ns) / q->width_ns);
}

static int bands_bin(void *part, const struct history_bin *bin)
{
	struct bands *b = part;
	const struct bands_question *q = b->question;

	for (size_t i = 0, n; i < bin->count && bin->events[i].time_ns < q->to_ns; i += n) {
		uint64_t time_ns = bin->events[i].time_ns;
		int64_t bucket = bucket_of(q, time_ns);

		for (n = 1; i + n < bin->count && bin->events[i + n].time_ns == time_ns;)
			n++;
		if ((!b->count || b->stretches[b->count - 1].bucket != bucket) &&
		    open_stretch(b, bucket,
				 bucket < 0 || time_ns != q->from_ns + (uint64_t)bucket *
									       q->width_ns) < 0)
			return -ENOMEM;
		take_step(b, bin->events + i, n);
	}
	return 0;
}

/* ---- the whole ---- */

/* Buckets up to `end` in which nothing happened are as what was before them. */
static void fill_quiet(struct bands *whole, uint32_t end, const int64_t *as)
{
	uint32_t count = whole->question->count;

	for (; whole->buckets < end; whole->buckets++) {
		memcpy(whole->filled + (size_t)whole->buckets * count, as, count * sizeof(*as));
		whole->totals[whole->buckets] = INT64_MAX;
	}
}

/* `whole->now` is where the part began. */
static void take_stretch(struct bands *whole, const struct bands *part, uint32_t s)
{
	uint32_t count = whole->question->count, bucket = (uint32_t)part->stretches[s].bucket;
	int64_t total = plus(whole->total, part->stretches[s].total),
		*to = whole->filled + (size_t)bucket * count;
	const int64_t *from = highest_of(part, s);

	/* The part before may have begun the bucket. */
	if (bucket < whole->buckets && total <= whole->totals[bucket])
		return;
	for (uint32_t k = 0; k < count; k++)
		to[k] = plus(whole->now[k], from[k]);
	whole->totals[bucket] = total;
	whole->buckets = bucket + 1;
}

static int bands_merge(void *context, void *part_)
{
	struct bands *whole = context, *part = part_;
	uint32_t count = whole->question->count;
	int64_t *before = malloc(count * sizeof(*before)); /* as of the stretch at hand */

	if (!before)
		return -ENOMEM;
	close_stretch(part);
	memcpy(before, whole->now, count * sizeof(*before));
	for (uint32_t s = 0; s < part->count; s++) {
		if (part->stretches[s].bucket >= 0) {
			fill_quiet(whole, (uint32_t)part->stretches[s].bucket, before);
			take_stretch(whole, part, s);
		}
		for (uint32_t k = 0; k < count; k++)
			before[k] = plus(whole->now[k], end_of(part, s)[k]);
	}
	for (uint32_t k = 0; k < count; k++)
		whole->now[k] = plus(whole->now[k], part->now[k]);
	whole->total = plus(whole->total, part->total);
	free(before);
	return 0;
}

int bands_follow(const struct history_of *of, const struct bands_question *q, int64_t *values,
		 struct err_text *err)
{
	struct bands whole = {.question = q, .filled = values};
	struct history_bins bins = {0};
	int r = 0;

	whole.now = calloc(q->count, sizeof(*whole.now));
	whole.totals = calloc((size_t)q->buckets + 1, sizeof(*whole.totals));
	if (!whole.now || !whole.totals)
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = history_visit(of, &bins,
				  &(struct history_visitor){&whole, bands_new, bands_bin,
							    bands_merge, bands_free},
				  err);
	if (!r)
		fill_quiet(&whole, q->buckets, whole.now);
	history_bins_done(&bins);
	free(whole.now);
	free(whole.totals);
	return r;
}
