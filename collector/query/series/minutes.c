/* Sums by minute and backtrace. See minutes.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/view.h"
#include "collector/query/minutes.h"
#include "collector/query/query.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history_parts.h"

#include "base/ban.h"

#define VARIANCE_MAX 0x1p53

struct minutes_question {
	const struct matcher *matcher;
	uint64_t start_wall_ns;
	uint32_t first, end;
	/* Times of the recording: events after from_ns, or from its beginning on, up to to_ns. */
	bool from_start;
	uint64_t from_ns, to_ns;
};

/* Sums of some rows; the whole has no map. */
struct minutes_part {
	const struct minutes_question *question;
	struct minutes sums;
	struct map places; /* minute << 32 | node -> index in `sums` + 1 */
};

void minutes_done(struct minutes *m)
{
	free(m->list);
	*m = (struct minutes){0};
}

static int64_t wrapped(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void minute_sum_add(struct minute_sum *to, const struct minute_sum *more)
{
	to->allocated_units = wrapped(to->allocated_units, more->allocated_units);
	to->allocated = wrapped(to->allocated, more->allocated);
	to->units = wrapped(to->units, more->units);
	to->bytes = wrapped(to->bytes, more->bytes);
	to->variance = wrapped(to->variance, more->variance);
}

double minutes_error(int64_t bytes, int64_t variance)
{
	return variance > 0 ? tally_error((double)bytes, (double)variance * MINUTE_VARIANCE) : 0;
}

int minutes_add(struct minutes *m, const struct minute_sum *sum)
{
	if (array_reserve(&m->list, &m->capacity, (uint64_t)m->count + 1, sizeof(*m->list)) < 0)
		return -ENOMEM;
	m->list[m->count++] = *sum;
	return 0;
}

static int64_t negated(int64_t value)
{
	return (int64_t)(0 - (uint64_t)value);
}

int minutes_subtract(struct minutes *m, const struct minutes *less)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < less->count; i++) {
		const struct minute_sum *s = &less->list[i];

		r = minutes_add(m,
				&(struct minute_sum){.minute = s->minute,
						     .stack = s->stack,
						     .allocated_units = negated(s->allocated_units),
						     .allocated = negated(s->allocated),
						     .units = negated(s->units),
						     .bytes = negated(s->bytes),
						     .variance = negated(s->variance)});
	}
	return r;
}

static int minute_order(const void *a, const void *b)
{
	const struct minute_sum *x = a, *y = b;

	if (x->minute != y->minute)
		return x->minute < y->minute ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static bool is_zero(const struct minute_sum *s)
{
	return !s->allocated_units && !s->allocated && !s->units && !s->bytes && !s->variance;
}

void minutes_sort(struct minutes *m)
{
	uint32_t kept = 0;

	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), minute_order);
	for (uint32_t i = 0; i < m->count; i++) {
		struct minute_sum sum = m->list[i];

		while (i + 1 < m->count && !minute_order(&sum, &m->list[i + 1]))
			minute_sum_add(&sum, &m->list[++i]);
		if (!is_zero(&sum))
			m->list[kept++] = sum;
	}
	m->count = kept;
}

/* ---- the pass over the rows ---- */

static bool minutes_after(const struct minutes_question *q, uint64_t time_ns)
{
	return q->from_start || time_ns > q->from_ns;
}

static bool minutes_skip(const void *context, const struct row_block *zone)
{
	const struct minutes_question *q = ((const struct minutes_part *)context)->question;

	return zone->min.birth_ns > q->to_ns ||
	       (!minutes_after(q, zone->max.birth_ns) && !minutes_after(q, zone->max.death_ns));
}

static int minutes_part_new(void *context, void **ret_part)
{
	struct minutes_part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	part->question = ((const struct minutes_part *)context)->question;
	*ret_part = part;
	return 0;
}

static void minutes_part_free(void *context)
{
	struct minutes_part *part = context;

	minutes_done(&part->sums);
	map_done(&part->places);
	free(part);
}

/* Adds to the sums of the minute that holds a time of the recording. */
static int minutes_count(struct minutes_part *p, uint64_t time_ns, uint32_t node,
			 const struct minute_sum *change)
{
	const struct minutes_question *q = p->question;
	uint32_t minute = minute_of(q->start_wall_ns + time_ns);
	uint64_t *place = map_put(&p->places, (uint64_t)minute << 32 | node, NULL);
	int r = 0;

	if (!place)
		return -ENOMEM;
	if (!*place) {
		r = minutes_add(&p->sums, &(struct minute_sum){.minute = minute, .stack = node});
		*place = p->sums.count;
	}
	if (!r)
		minute_sum_add(&p->sums.list[*place - 1], change);
	return r;
}

/* Limited, as weights come from outside. */
static int64_t variance_of(const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i);
	double variance;

	if (!size || !tally_is_sampled(size, weight))
		return 0;
	variance = tally_bytes_variance(size, weight) / MINUTE_VARIANCE;
	return variance < VARIANCE_MAX ? (int64_t)ceil(variance) : (int64_t)VARIANCE_MAX;
}

static int minutes_count_row(struct minutes_part *p, const struct row_block *block, uint32_t i)
{
	const struct minutes_question *q = p->question;
	uint64_t birth = birth_time(block, i), death = death_time(block, i);
	struct history_event e;
	int64_t variance;
	bool born = minutes_after(q, birth) && birth <= q->to_ns,
	     died = minutes_after(q, death) && death <= q->to_ns;
	int r = 0;

	if (!born && !died)
		return 0;
	e = birth_of(block, i);
	variance = variance_of(block, i);
	if (born)
		r = minutes_count(p, birth, block->stack[i],
				  &(struct minute_sum){
					  .allocated_units = row_survivor(block, i) ? 0 : e.units,
					  .allocated = row_survivor(block, i) ? 0 : e.bytes,
					  .units = e.units,
					  .bytes = e.bytes,
					  .variance = variance,
				  });
	e = death_of(&e, death);
	if (!r && died)
		r = minutes_count(p, death, block->stack[i],
				  &(struct minute_sum){.units = e.units,
						       .bytes = e.bytes,
						       .variance = -variance});
	return r;
}

static int minutes_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct minutes_part *part = context;
	int r = 0;

	for (uint32_t k = 0; !r && k < rows->count; k++)
		r = minutes_count_row(part, block, row_at(rows, k));
	return r;
}

static int minutes_merge(void *context, void *part)
{
	struct minutes *to = &((struct minutes_part *)context)->sums,
		       *from = &((struct minutes_part *)part)->sums;
	int r = 0;

	for (uint32_t i = 0; !r && i < from->count; i++)
		r = minutes_add(to, &from->list[i]);
	return r;
}

/* The times of the recording that the minutes are of. Returns false if they are all before it. */
static bool minutes_times(struct minutes_question *q)
{
	uint64_t from = minute_start_ns(q->first), to = minute_start_ns(q->end);

	if (q->first >= q->end || to < q->start_wall_ns)
		return false;
	q->to_ns = to - q->start_wall_ns;
	q->from_start = from < q->start_wall_ns;
	q->from_ns = q->from_start ? 0 : from - q->start_wall_ns;
	return true;
}

static int minutes_ask(struct minutes_part *whole, struct view *view, const struct filter *filter,
		       struct minutes_question *q, struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (r < 0)
		return r;
	m.hides_survivors = false;
	q->matcher = &m;
	r = sweep_run(&(struct sweep){.matcher = &m,
				      .columns = ROWS_SIZE | ROWS_WEIGHT | ROWS_BIRTH | ROWS_DEATH |
						 ROWS_STACK | ROWS_KIND,
				      .context = whole,
				      .skips = minutes_skip,
				      .part_new = minutes_part_new,
				      .part_rows = minutes_rows,
				      .part_merge = minutes_merge,
				      .part_free = minutes_part_free},
		      err);
	matcher_done(&m);
	return r;
}

int query_minutes(struct view *view, const struct filter *filter, uint64_t start_wall_ns,
		  uint32_t first, uint32_t end, struct minutes *ret_minutes, struct err_text *err)
{
	struct minutes_question q = {.start_wall_ns = start_wall_ns, .first = first, .end = end};
	struct minutes_part whole = {.question = &q};
	int r = view_prepare(view, err);

	if (!r && minutes_times(&q))
		r = minutes_ask(&whole, view, filter, &q, err);
	if (r < 0) {
		minutes_done(&whole.sums);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	minutes_sort(&whole.sums);
	*ret_minutes = whole.sums;
	return 0;
}
