/* Reads the events of bins in order. See history.h. */
#include "collector/query/time/history.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/history_parts.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

#define PARTS		16
#define DIGIT_MAX	10     /* maximum number of bits sorted by at a time */
#define CELLS_MAX	16384u /* events that sort_by_cell takes, and more */
#define CELL_EVENTS_MAX 32u    /* in one cell; a sort by digits is quicker then */

/* ---- sorting ---- */

struct events {
	struct history_event *list;
	size_t count, capacity;
};

static int events_reserve(struct events *e, size_t more)
{
	size_t capacity = e->capacity ? e->capacity : 4096;
	struct history_event *list;

	if (e->count + more <= e->capacity)
		return 0;
	while (capacity < e->count + more)
		capacity *= 2;
	list = reallocarray(e->list, capacity, sizeof(*list));
	if (!list)
		return -ENOMEM;
	e->list = list;
	e->capacity = capacity;
	return 0;
}

/* A key holds a time, and the number of the event in its low bits. */
struct sorter {
	uint64_t *keys, *other;
	size_t capacity;
};

static int sorter_reserve(struct sorter *s, size_t count)
{
	if (count <= s->capacity)
		return 0;
	free(s->keys);
	free(s->other);
	s->capacity = count + count / 2;
	s->keys = malloc(s->capacity * sizeof(*s->keys));
	s->other = malloc(s->capacity * sizeof(*s->other));
	if (!s->keys || !s->other)
		s->capacity = 0;
	return s->capacity ? 0 : -ENOMEM;
}

static void sort_by_digit(struct sorter *s, size_t count, unsigned shift, unsigned bits)
{
	size_t at[1u << DIGIT_MAX] = {0}, sum = 0, mask = (1u << bits) - 1;
	uint64_t *swap = s->keys;

	for (size_t i = 0; i < count; i++)
		at[s->keys[i] >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		size_t n = at[d];

		at[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		s->other[at[s->keys[i] >> shift & mask]++] = s->keys[i];
	s->keys = s->other;
	s->other = swap;
}

static int history_by_time(const void *a, const void *b)
{
	const struct history_event *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static unsigned width_of(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Puts each event into one of as many cells as there are events, by its time, and then sorts the
 * few that share a cell. Returns false without having done anything if some cell has too many. */
static bool sort_by_cell(const struct history_event *from, size_t count, struct history_event *to,
			 uint64_t base, unsigned bits)
{
	unsigned width = width_of(count), shift = bits > width ? bits - width : 0;
	uint16_t at[CELLS_MAX];
	uint32_t sum = 0;

	if (count >= CELLS_MAX)
		return false;
	memset(at, 0, sizeof(*at) << width);
	for (size_t i = 0; i < count; i++)
		at[(from[i].time_ns - base) >> shift]++;
	for (size_t c = 0; c < 1u << width; c++) {
		uint16_t n = at[c];

		if (n > CELL_EVENTS_MAX)
			return false;
		at[c] = (uint16_t)sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[at[(from[i].time_ns - base) >> shift]++] = from[i];
	for (size_t i = 1; i < count; i++) {
		struct history_event event = to[i];
		size_t k = i;

		for (; k && to[k - 1].time_ns > event.time_ns; k--)
			to[k] = to[k - 1];
		if (k < i)
			to[k] = event;
	}
	return true;
}

/* A radix sort on the digits in which the times differ: `bits` above the `low` ones. */
static int sort_by_digits(struct sorter *s, const struct history_event *from, size_t count,
			  struct history_event *to, uint64_t base, unsigned low, unsigned bits)
{
	unsigned number = width_of(count), digits = (bits + DIGIT_MAX - 1) / DIGIT_MAX,
		 width = digits ? (bits + digits - 1) / digits : 0;

	if (sorter_reserve(s, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		s->keys[i] = ((from[i].time_ns - base) >> low) << number | i;
	for (unsigned d = 0; d < digits; d++)
		sort_by_digit(s, count, number + d * width, width);
	for (size_t i = 0; i < count; i++)
		to[i] = from[s->keys[i] & ((1ull << number) - 1)];
	return 0;
}

/* Sorts by time, from `from` into `to`. If time and number of an event do not fit into one key, as
 * in bins of many hours, a comparison sort is used. */
static int sort_events(struct sorter *s, const struct history_event *from, size_t count,
		       struct events *to, uint64_t base)
{
	uint64_t any = 0, last = base;
	bool sorted = true;
	unsigned low, bits;

	to->count = 0;
	if (events_reserve(to, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		any |= from[i].time_ns - base;
		sorted &= from[i].time_ns >= last;
		last = from[i].time_ns;
	}
	low = any ? (unsigned)__builtin_ctzll(any) : 0; /* low bits that are 0 in all times */
	bits = width_of(any >> low);
	to->count = count;
	if (sorted && count)
		memcpy(to->list, from, count * sizeof(*from));
	if (sorted || sort_by_cell(from, count, to->list, base, bits + low))
		return 0;
	if (bits + width_of(count) <= 64)
		return sort_by_digits(s, from, count, to->list, base, low, bits);
	memcpy(to->list, from, count * sizeof(*from));
	qsort(to->list, count, sizeof(*from), history_by_time);
	return 0;
}

/* ---- reading rows by segments ---- */

struct history_reader {
	const struct history_of *of;
	const struct history_bins *bins;
	struct row_reader *reader;
	const struct row_block *block; /* unpacked */
	struct weighed_rows *weighed;  /* for a preview */
	bool whole;		       /* all bins will be read, and thus all rows of a block */
	uint64_t from, to;	       /* else: the time of the current bin */
	uint16_t *room;
	/* With `whole`: near events of the rows read so far, for this bin and later ones. */
	struct events waiting;
	struct events bin, sorted, far;
	struct sorter sorter;
};

void history_reader_free(struct history_reader *r)
{
	if (!r)
		return;
	row_reader_free(r->reader);
	free(r->weighed);
	free(r->room);
	free(r->waiting.list);
	free(r->bin.list);
	free(r->sorted.list);
	free(r->far.list);
	free(r->sorter.keys);
	free(r->sorter.other);
	free(r);
}

int history_reader_new(const struct history_of *of, const struct history_bins *bins,
		       struct history_reader **ret_reader)
{
	struct history_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->of = of;
	r->bins = bins;
	r->room = malloc(ROWS_PER_BLOCK * sizeof(*r->room));
	if (!r->room || row_reader_new(of->matcher->recording, &r->reader) < 0) {
		history_reader_free(r);
		return -ENOMEM;
	}
	*ret_reader = r;
	return 0;
}

static int history_open_rows(struct history_reader *r, uint32_t index, uint32_t first, uint32_t end,
			     struct err_text *err)
{
	unsigned columns = history_columns(r->of) | matcher_columns(r->of->matcher);

	r->block = r->whole && !r->of->matcher->one_in
			   ? row_reader_block(r->reader, index, columns, err)
			   : row_reader_rows(r->reader, index, columns, first, end, err);
	return r->block ? 0 : -EIO;
}

static int add_near(struct history_reader *r, uint32_t segment, const struct row_set *rows)
{
	uint64_t from = r->bins->near_from[segment], to = r->bins->near_to[segment];
	struct events *events = r->whole ? &r->waiting : &r->bin;
	struct history_event *list;
	size_t n = 0;

	if (!rows->count)
		return 0;
	if (events_reserve(events, 2 * (size_t)rows->count) < 0)
		return -ENOMEM;
	if (!r->whole) {
		from = from > r->from ? from : r->from;
		to = to < r->to ? to : r->to;
	}
	list = events->list + events->count;
	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t born = birth_time(r->block, i), death = death_time(r->block, i);
		bool birth_near = (born >= from) & (born < to),
		     death_near = (death >= from) & (death < to) & (death < NO_TIME);
		struct history_event birth;

		if (!(birth_near | death_near))
			continue;
		birth = named_birth_of(r->of, r->block, i);
		/* Both events are written, but only near ones are counted. This saves branches. */
		list[n] = birth;
		n += birth_near;
		list[n] = death_of(&birth, death);
		n += death_near;
	}
	events->count += n;
	return 0;
}

/* The segments up to `last` will be read next, so those in the same block are unpacked together. */
static int read_segment(struct history_reader *r, uint32_t segment, uint32_t last,
			struct err_text *err)
{
	const struct matcher *m = r->of->matcher;
	uint64_t row = (uint64_t)segment * r->bins->segment_rows;
	uint32_t index = (uint32_t)(row / ROWS_PER_BLOCK), first = (uint32_t)(row % ROWS_PER_BLOCK),
		 end;
	uint32_t count = matcher_block_rows(m, recording_zone(m->recording, index));
	uint64_t to = ((uint64_t)last + 1) * r->bins->segment_rows - (row - first);
	struct row_set rows;
	int e;

	if (first >= count || r->bins->near_from[segment] == r->bins->near_to[segment])
		return 0;
	end = count - first < r->bins->segment_rows ? count : first + r->bins->segment_rows;
	if (!matcher_takes(m, row, row + end - first))
		return 0;
	if (m->one_in)
		to = end;
	e = history_open_rows(r, index, first, to < count ? (uint32_t)to : count, err);
	if (e < 0)
		return e;
	rows = matcher_select(m, r->block, first, end, r->room);
	if (rows.count && m->one_in)
		r->block = matcher_weigh(m, r->block, &rows, &r->weighed);
	if (!r->block)
		return -ENOMEM;
	return add_near(r, segment, &rows);
}

/* Moves the events of the bin out of `waiting`, and drops earlier ones. */
static int take_near(struct history_reader *r, uint32_t bin)
{
	uint64_t from = r->bins->start[bin], to = r->bins->start[bin + 1];
	struct history_event *waiting = r->waiting.list, *taken;
	size_t left = 0, n = 0;

	if (!r->waiting.count)
		return 0;
	if (events_reserve(&r->bin, r->waiting.count) < 0)
		return -ENOMEM;
	taken = r->bin.list + r->bin.count;
	for (size_t i = 0; i < r->waiting.count; i++) {
		struct history_event e = waiting[i];

		if (e.time_ns >= to)
			waiting[left++] = e;
		else if (e.time_ns >= from)
			taken[n++] = e;
	}
	r->waiting.count = left;
	r->bin.count += n;
	return 0;
}

static int finish_bin(struct history_reader *r, uint32_t bin, struct history_bin *ret_bin)
{
	int e = r->whole ? take_near(r, bin) : 0;

	if (!e)
		e = sort_events(&r->sorter, r->bin.list, r->bin.count, &r->sorted,
				r->bins->start[bin]);
	if (!e)
		*ret_bin = (struct history_bin){.number = bin,
						.start_ns = r->bins->start[bin],
						.events = r->sorted.list,
						.count = r->sorted.count};
	r->bin.count = 0;
	return e;
}

int history_reader_far(struct history_reader *reader, const struct history_event *event)
{
	if (events_reserve(&reader->bin, 1) < 0)
		return -ENOMEM;
	reader->bin.list[reader->bin.count++] = *event;
	return 0;
}

static uint32_t first_segment(const struct history_bins *bins, uint32_t bin)
{
	return bins->segment[bin] > HISTORY_NEAR ? bins->segment[bin] - HISTORY_NEAR : 0;
}

static int read_segments(struct history_reader *r, uint32_t first, uint32_t last,
			 struct err_text *err)
{
	int e = 0;

	for (uint32_t s = first; !e && s <= last && s < r->bins->segments; s++)
		e = read_segment(r, s, last, err);
	return e;
}

int history_reader_bin(struct history_reader *reader, uint32_t bin, struct history_bin *ret_bin,
		       struct err_text *err)
{
	int r;

	reader->from = reader->bins->start[bin];
	reader->to = reader->bins->start[bin + 1];
	r = read_segments(reader, first_segment(reader->bins, bin), reader->bins->segment[bin],
			  err);
	if (r < 0)
		reader->bin.count = 0;
	return r < 0 ? r : finish_bin(reader, bin, ret_bin);
}

DEFINE_CLEANUP(history_reader_free, struct history_reader *)

/* ---- all bins ---- */

struct visit {
	const struct history_of *of;
	const struct history_bins *bins;
	const struct history_visitor *visitor;
	const uint32_t *counts;
	struct far_all all;
	struct far_events far;
	unsigned parts;
	void *part[PARTS];
	pthread_t asking;
	pthread_mutex_t lock; /* protects err */
	struct err_text *err;
};

static int visit_bin(const struct visit *v, struct history_reader *reader, uint32_t bin, void *part)
{
	size_t far_count = v->counts[bin];
	const struct history_event *far = v->far.list + v->far.at[bin - v->far.first] - far_count;
	struct history_bin found;
	int r = events_reserve(&reader->bin, far_count);

	if (!r)
		r = sort_events(&reader->sorter, far, far_count, &reader->far, v->bins->start[bin]);
	if (r < 0)
		return r;
	if (far_count)
		memcpy(reader->bin.list, far, far_count * sizeof(*far));
	reader->bin.count = far_count;
	r = finish_bin(reader, bin, &found);
	if (r < 0)
		return r;
	found.far = reader->far.list;
	found.far_count = far_count;
	return v->visitor->part_bin(part, &found);
}

static int visit_bins(const struct visit *v, uint32_t first, uint32_t end, void *part,
		      struct err_text *err)
{
	bool asking = pthread_equal(pthread_self(), v->asking);
	cleanup(cleanup_history_reader_free) struct history_reader *reader = NULL;
	uint32_t next = first_segment(v->bins, first);
	int r = history_reader_new(v->of, v->bins, &reader);

	if (!r)
		reader->whole = true;
	for (uint32_t k = first; !r && k < end; k++) {
		r = matcher_cancelled(v->of->matcher, err);
		if (!r)
			r = read_segments(reader, next, v->bins->segment[k], err);
		if (!r)
			r = visit_bin(v, reader, k, part);
		next = v->bins->segment[k] + 1;
		matcher_did(v->of->matcher, 1, asking);
	}
	return r;
}

static int history_run_part(void *context, unsigned p)
{
	struct visit *v = context;
	uint64_t bins = v->far.end - v->far.first;
	struct err_text err = {0};
	int r = v->visitor->part_new(v->visitor->context, &v->part[p]);

	if (!r)
		r = visit_bins(v, v->far.first + (uint32_t)(p * bins / v->parts),
			       v->far.first + (uint32_t)((p + 1) * bins / v->parts), v->part[p],
			       &err);
	if (r < 0 && err.text[0]) {
		pthread_mutex_lock(&v->lock);
		err_set(v->err, r, "%s", err.text);
		pthread_mutex_unlock(&v->lock);
	}
	return r;
}

static int merge_part(void *context, unsigned p)
{
	struct visit *v = context;
	int r = v->visitor->part_merge(v->visitor->context, v->part[p]);

	v->visitor->part_free(take_ptr(v->part[p]));
	return r;
}

static int visit_some(struct visit *v)
{
	uint32_t bins = v->far.end - v->far.first;
	int r;

	v->parts = bins < PARTS ? bins : PARTS;
	matcher_will_do(v->of->matcher, bins);
	r = parallel_run(&(struct parallel_work){v->parts, v, history_run_part, merge_part});
	for (unsigned p = 0; p < PARTS; p++)
		if (v->part[p])
			v->visitor->part_free(take_ptr(v->part[p]));
	return r;
}

/* Chooses as many bins as there is room for their far events, at least one. */
static uint64_t choose_bins(const struct visit *v, uint32_t first, uint32_t *ret_end)
{
	uint64_t events = v->counts[first];
	uint32_t end = first + 1;

	while (end < v->bins->count && events + v->counts[end] <= history_far_room())
		events += v->counts[end++];
	*ret_end = end;
	return events;
}

static int history_visit_all(struct visit *v)
{
	int r = 0;

	for (uint32_t first = 0; !r && first < v->bins->count; first = v->far.end) {
		uint64_t events;

		v->far.first = first;
		events = choose_bins(v, first, &v->far.end);
		free(v->far.at);
		free(v->far.list);
		v->far.at = malloc((v->far.end - first) * sizeof(*v->far.at));
		v->far.list = malloc((events + 1) * sizeof(*v->far.list));
		r = v->far.at && v->far.list ? history_gather_far(v->of, v->bins, v->counts,
								  &v->all, &v->far, v->err)
					     : -ENOMEM;
		if (!r)
			r = visit_some(v);
	}
	free(v->far.at);
	free(v->far.list);
	return r;
}

int history_visit(const struct history_of *of, struct history_bins *ret_bins,
		  const struct history_visitor *visitor, struct err_text *err)
{
	cleanup(cleanup_free) uint32_t *counts = NULL;
	struct history_bins bins = {0};
	struct visit v = {
		.of = of, .bins = &bins, .visitor = visitor, .asking = pthread_self(), .err = err};
	int r = history_bins_make(of, &bins, &counts, &v.all, err);

	v.counts = counts;
	pthread_mutex_init(&v.lock, NULL);
	if (!r)
		r = history_visit_all(&v);
	pthread_mutex_destroy(&v.lock);
	free(v.all.list);
	if (r < 0)
		history_bins_done(&bins);
	else
		*ret_bins = bins;
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
