/* See usage_index.h. Sums wrap around like machine integers: a file may contain nonsense, but this
 * does no harm. */
#include "collector/query/time/usage_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/usage_index_parts.h"

#include "base/ban.h"

#define PARTS 16

enum far_flags { FAR_BIRTHS = 1, FAR_DEATHS = 2, FAR_FRACTIONS = 4 };

DEFINE_CLEANUP(usage_index_free, struct usage_index *)

void usage_index_free(struct usage_index *index)
{
	if (!index)
		return;
	history_bins_done(&index->bins);
	free(index->list);
	spill_done(&index->own);
	free(index);
}

const struct history_bins *usage_index_bins(const struct usage_index *index)
{
	return &index->bins;
}

/* ---- sums ---- */

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static struct usage_sum sum_plus(struct usage_sum a, struct usage_sum b)
{
	return (struct usage_sum){plus(a.bytes, b.bytes), plus(a.units, b.units)};
}

static struct usage_sum sum_minus(struct usage_sum a, struct usage_sum b)
{
	return (struct usage_sum){(int64_t)((uint64_t)a.bytes - (uint64_t)b.bytes),
				  (int64_t)((uint64_t)a.units - (uint64_t)b.units)};
}

static struct usage_sum usage_index_sum_of(const struct history_event *e)
{
	return (struct usage_sum){e->bytes, e->units};
}

static void usage_index_reach(struct usage_sum *least, struct usage_sum *most, bool *reached,
			      struct usage_sum at)
{
	if (!*reached)
		*least = *most = at;
	*reached = true;
	if (at.bytes < least->bytes)
		least->bytes = at.bytes;
	if (at.bytes > most->bytes)
		most->bytes = at.bytes;
	if (at.units < least->units)
		least->units = at.units;
	if (at.units > most->units)
		most->units = at.units;
}

/* ---- far events as bytes ---- */

struct far_step {
	uint64_t time_ns;
	struct usage_sum births, deaths;
};

static uint8_t *put_sum(uint8_t *to, const struct usage_sum *sum, bool fractions)
{
	to = varint_put(to, (uint64_t)sum->bytes);
	return varint_put(to, (uint64_t)(fractions ? sum->units : sum->units / HISTORY_UNIT));
}

static void put_step(struct buf *out, uint64_t since, const struct far_step *step)
{
	bool fractions = step->births.units % HISTORY_UNIT || step->deaths.units % HISTORY_UNIT;
	bool births = step->births.units != 0, deaths = step->deaths.units != 0;
	uint8_t *begin = buf_reserve(out, 6 * VARINT_MAX), *to = begin;

	if (!to)
		return;
	to = varint_put(to, since);
	*to++ = (uint8_t)((births ? FAR_BIRTHS : 0) | (deaths ? FAR_DEATHS : 0) |
			  (fractions ? FAR_FRACTIONS : 0));
	if (births)
		to = put_sum(to, &step->births, fractions);
	if (deaths)
		to = put_sum(to, &step->deaths, fractions);
	out->length += (size_t)(to - begin);
}

static struct usage_sum get_sum(struct reader *r, bool fractions)
{
	uint64_t bytes = reader_varint(r), units = reader_varint(r);

	return (struct usage_sum){(int64_t)bytes,
				  (int64_t)(fractions ? units : units * HISTORY_UNIT)};
}

/* Appends a bin's far events. Returns the number of distinct times. */
static uint32_t put_far(struct buf *out, const struct history_event *far, size_t count,
			uint64_t begin_ns)
{
	uint32_t steps = 0;

	for (size_t i = 0; i < count; steps++) {
		struct far_step step = {.time_ns = far[i].time_ns};

		for (; i < count && far[i].time_ns == step.time_ns; i++) {
			if (far[i].units > 0)
				step.births = sum_plus(step.births, usage_index_sum_of(&far[i]));
			else
				step.deaths = sum_minus(step.deaths, usage_index_sum_of(&far[i]));
		}
		put_step(out, step.time_ns - begin_ns, &step);
		begin_ns = step.time_ns;
	}
	return steps;
}

static int give_event(struct history_reader *reader, uint64_t time_ns, struct usage_sum sum)
{
	return history_reader_far(reader,
				  &(struct history_event){time_ns, sum.bytes, sum.units, 0});
}

/* Passes a bin's far events to a reader. */
static int get_far(const struct usage_index *index, uint32_t k, struct history_reader *reader,
		   struct err_text *err)
{
	struct reader bytes;
	uint64_t time_ns = index->bins.start[k];
	int r = 0;

	if (!index->list[k].far_count)
		return 0; /* if no bin has any, there are no bytes to read */
	bytes = reader_of(index->far + index->list[k].far, index->far_length - index->list[k].far);
	for (uint32_t i = 0; !r && i < index->list[k].far_count; i++) {
		uint64_t since = reader_varint(&bytes);
		uint8_t flags = reader_u8(&bytes);

		if (reader_error(&bytes) || since >= index->bins.start[k + 1] - time_ns)
			return err_set(err, -EBADMSG,
				       "the index of what was in use over time is damaged");
		time_ns += since;
		if (flags & FAR_BIRTHS)
			r = give_event(reader, time_ns, get_sum(&bytes, flags & FAR_FRACTIONS));
		if (!r && (flags & FAR_DEATHS)) {
			struct usage_sum died = get_sum(&bytes, flags & FAR_FRACTIONS);

			r = give_event(reader, time_ns, sum_minus((struct usage_sum){0}, died));
		}
	}
	return r;
}

/* ---- making ---- */

/* Consecutive bins. The sums at their starts count from the start of the part. */
struct part {
	struct bin *list;
	uint32_t count, capacity;
	struct usage_sum at;
	struct buf bin; /* far events of the last bin */
	struct spill far;
};

struct making {
	struct bin *list;
	uint32_t count;
	struct usage_sum at;
	struct spill *far;
};

static void usage_index_part_free(void *part)
{
	struct part *p = part;

	free(p->list);
	buf_done(&p->bin);
	spill_done(&p->far);
	free(p);
}

static int usage_index_part_new(void *context, void **ret_part)
{
	struct part *p = calloc(1, sizeof(*p));

	(void)context;
	if (!p)
		return -ENOMEM;
	spill_init(&p->far);
	*ret_part = p;
	return 0;
}

/* Determines the least and most at any moment of the bin. A moment's value holds after all events
 * of that nanosecond. */
static void usage_index_follow(struct bin *bin, const struct history_bin *from)
{
	struct usage_sum at = bin->start;
	bool reached = false;

	if (!from->count || from->events[0].time_ns > from->start_ns)
		usage_index_reach(&bin->least, &bin->most, &reached, at);
	for (size_t i = 0; i < from->count; i++) {
		const struct history_event *e = &from->events[i];

		at = sum_plus(at, usage_index_sum_of(e));
		if (e->units > 0)
			bin->births = sum_plus(bin->births, usage_index_sum_of(e));
		else
			bin->deaths = sum_minus(bin->deaths, usage_index_sum_of(e));
		if (i + 1 == from->count || e[1].time_ns != e->time_ns)
			usage_index_reach(&bin->least, &bin->most, &reached, at);
	}
}

static int part_bin(void *part, const struct history_bin *from)
{
	struct part *p = part;
	struct bin *bin;

	if (p->count == p->capacity) {
		uint32_t capacity = p->capacity ? 2 * p->capacity : 256;
		struct bin *list = reallocarray(p->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		p->list = list;
		p->capacity = capacity;
	}
	bin = &p->list[p->count++];
	*bin = (struct bin){.start = p->at};
	usage_index_follow(bin, from);
	p->at = sum_plus(p->at, sum_minus(bin->births, bin->deaths));
	bin->far = p->far.length;
	buf_clear(&p->bin);
	bin->far_count = put_far(&p->bin, from->far, from->far_count, from->start_ns);
	return buf_error(&p->bin) ? buf_error(&p->bin)
				  : spill_append(&p->far, p->bin.data, p->bin.length);
}

static int usage_index_part_merge(void *context, void *part)
{
	struct making *m = context;
	struct part *p = part;
	const uint8_t *far;
	struct bin *list = reallocarray(m->list, (size_t)m->count + p->count + 1, sizeof(*list));

	int r;

	if (!list)
		return -ENOMEM;
	m->list = list;
	for (uint32_t i = 0; i < p->count; i++) {
		struct bin bin = p->list[i];

		bin.far += m->far->length;
		bin.start = sum_plus(bin.start, m->at);
		bin.least = sum_plus(bin.least, m->at);
		bin.most = sum_plus(bin.most, m->at);
		m->list[m->count++] = bin;
	}
	m->at = sum_plus(m->at, p->at);
	r = spill_read(&p->far, &far, NULL);
	return r ? r : spill_append(m->far, far, p->far.length);
}

int usage_index_new(const struct history_of *of, struct usage_index **ret_index,
		    struct err_text *err)
{
	cleanup(cleanup_usage_index_free) struct usage_index *index = calloc(1, sizeof(*index));
	struct making making = {0};
	int r;

	if (!index)
		return err_set(err, -ENOMEM, "out of memory");
	spill_init(&index->own);
	making.far = &index->own;
	r = history_visit(of, &index->bins,
			  &(struct history_visitor){&making, usage_index_part_new, part_bin,
						    usage_index_part_merge, usage_index_part_free},
			  err);
	index->list = making.list;
	if (!r)
		r = spill_read(&index->own, &index->far, err);
	if (r < 0)
		return r;
	index->far_length = index->own.length;
	*ret_index = take_ptr(index);
	return 0;
}

/* ---- queries ---- */

/* A bin with what was in use before and after each of its events. */
struct opened {
	const struct usage_index *index;
	struct history_reader *reader;
	bool known;
	uint32_t number;
	struct history_bin bin;
	struct usage_sum *in_use, *born; /* by number of events that have happened */
	size_t capacity;
};

static void opened_done(struct opened *o)
{
	history_reader_free(o->reader);
	free(o->in_use);
	free(o->born);
}

static int opened_init(struct opened *o, const struct usage_index *index,
		       const struct history_of *of)
{
	*o = (struct opened){.index = index};
	return history_reader_new(of, &index->bins, &o->reader);
}

static int opened_reserve(struct opened *o, size_t count)
{
	if (count <= o->capacity)
		return 0;
	free(o->in_use);
	free(o->born);
	o->capacity = 2 * count;
	o->in_use = malloc(o->capacity * sizeof(*o->in_use));
	o->born = malloc(o->capacity * sizeof(*o->born));
	if (!o->in_use || !o->born)
		o->capacity = 0;
	return o->capacity ? 0 : -ENOMEM;
}

static int open_bin(struct opened *o, uint32_t k, struct err_text *err)
{
	int r;

	if (o->known && o->number == k)
		return 0;
	o->known = false;
	r = get_far(o->index, k, o->reader, err);
	if (!r)
		r = history_reader_bin(o->reader, k, &o->bin, err);
	if (!r)
		r = opened_reserve(o, o->bin.count + 1);
	if (r < 0)
		return r;
	o->in_use[0] = o->index->list[k].start;
	o->born[0] = (struct usage_sum){0};
	for (size_t i = 0; i < o->bin.count; i++) {
		struct usage_sum sum = usage_index_sum_of(&o->bin.events[i]);

		o->in_use[i + 1] = sum_plus(o->in_use[i], sum);
		o->born[i + 1] = sum.units > 0 ? sum_plus(o->born[i], sum) : o->born[i];
	}
	o->known = true;
	o->number = k;
	return 0;
}

/* Returns the number of events before a moment. */
static size_t usage_index_before(const struct opened *o, uint64_t time_ns)
{
	size_t low = 0, high = o->bin.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->bin.events[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int usage_index_peak(const struct usage_index *index, const struct history_of *of, uint64_t *ret_ns,
		     struct err_text *err)
{
	cleanup(opened_done) struct opened o = {0};
	uint32_t best = 0;
	size_t i = 0;
	int r;

	*ret_ns = 0;
	for (uint32_t k = 1; k < index->bins.count; k++)
		if (index->list[k].most.bytes > index->list[best].most.bytes)
			best = k;
	if (index->list[best].most.bytes <= 0)
		return 0;
	r = opened_init(&o, index, of);
	if (!r)
		r = open_bin(&o, best, err);
	if (r < 0)
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	while (i < o.bin.count &&
	       (o.in_use[i + 1].bytes != index->list[best].most.bytes ||
		(i + 1 < o.bin.count && o.bin.events[i + 1].time_ns == o.bin.events[i].time_ns)))
		i++;
	*ret_ns = i < o.bin.count ? o.bin.events[i].time_ns : index->bins.start[best];
	return 0;
}

static void add_whole(struct usage_span *span, const struct bin *bin, bool *reached)
{
	span->births = sum_plus(span->births, bin->births);
	span->deaths = sum_plus(span->deaths, bin->deaths);
	usage_index_reach(&span->least, &span->most, reached, bin->least);
	usage_index_reach(&span->least, &span->most, reached, bin->most);
}

static void add_part(struct usage_span *span, const struct opened *o, uint64_t from, uint64_t to,
		     bool *reached)
{
	const struct history_event *events = o->bin.events;
	size_t first = usage_index_before(o, from), end = usage_index_before(o, to);
	struct usage_sum born = sum_minus(o->born[end], o->born[first]),
			 change = sum_minus(o->in_use[end], o->in_use[first]);

	if (first == end || events[first].time_ns > from)
		usage_index_reach(&span->least, &span->most, reached, o->in_use[first]);
	for (size_t i = first; i < end; i++)
		if (i + 1 == end || events[i + 1].time_ns != events[i].time_ns)
			usage_index_reach(&span->least, &span->most, reached, o->in_use[i + 1]);
	span->births = sum_plus(span->births, born);
	span->deaths = sum_plus(span->deaths, sum_minus(born, change));
}

static int fill_span(struct opened *o, struct usage_span *span, struct err_text *err)
{
	const struct history_bins *bins = &o->index->bins;
	uint32_t first = history_bins_find(bins, span->from_ns);
	bool reached = false;
	int r = 0;

	span->births = span->deaths = (struct usage_sum){0};
	span->start = o->index->list[first].start;
	for (uint32_t k = first; !r && k < bins->count && bins->start[k] < span->to_ns; k++) {
		uint64_t from = bins->start[k] > span->from_ns ? bins->start[k] : span->from_ns,
			 to = bins->start[k + 1] < span->to_ns ? bins->start[k + 1] : span->to_ns;

		if (from == bins->start[k] && to == bins->start[k + 1]) {
			add_whole(span, &o->index->list[k], &reached);
			continue;
		}
		r = open_bin(o, k, err);
		if (r < 0)
			return r;
		if (k == first)
			span->start = o->in_use[usage_index_before(o, from)];
		add_part(span, o, from, to, &reached);
	}
	span->end = sum_plus(span->start, sum_minus(span->births, span->deaths));
	return r;
}

static int64_t usage_index_measure(const struct usage_sum *sum, bool blocks)
{
	return blocks ? sum->units : sum->bytes;
}

/* Returns the first moment in an open bin, from `from` to before `to`, at which the value is
 * `most`, or NO_TIME if there is none. */
static uint64_t moment_in(const struct opened *o, uint64_t from, uint64_t to, int64_t most,
			  bool blocks)
{
	const struct history_event *events = o->bin.events;
	size_t first = usage_index_before(o, from), end = usage_index_before(o, to);

	if ((first == end || events[first].time_ns > from) &&
	    usage_index_measure(&o->in_use[first], blocks) == most)
		return from;
	for (size_t i = first; i < end; i++)
		if ((i + 1 == end || events[i + 1].time_ns != events[i].time_ns) &&
		    usage_index_measure(&o->in_use[i + 1], blocks) == most)
			return events[i].time_ns;
	return NO_TIME;
}

static int find_moment(struct opened *o, const struct usage_span *span, bool blocks,
		       uint64_t *ret_ns, struct err_text *err)
{
	const struct history_bins *bins = &o->index->bins;
	int64_t most = usage_index_measure(&span->most, blocks);

	for (uint32_t k = history_bins_find(bins, span->from_ns);
	     k < bins->count && bins->start[k] < span->to_ns; k++) {
		uint64_t from = bins->start[k] > span->from_ns ? bins->start[k] : span->from_ns,
			 to = bins->start[k + 1] < span->to_ns ? bins->start[k + 1] : span->to_ns;
		int r;

		if (usage_index_measure(&o->index->list[k].most, blocks) < most)
			continue;
		r = open_bin(o, k, err);
		if (r < 0)
			return r;
		*ret_ns = moment_in(o, from, to, most, blocks);
		if (*ret_ns != NO_TIME)
			return 0;
	}
	*ret_ns = span->from_ns;
	return 0;
}

struct asking {
	const struct usage_index *index;
	const struct history_of *of;
	struct usage_span *spans;
	uint64_t *moments; /* to fill in, for spans that are filled already; NULL: fill the spans */
	bool blocks;
	uint32_t count;
	unsigned parts;
	struct err_text err[PARTS];
};

static int usage_index_run_part(void *context, unsigned p)
{
	struct asking *a = context;
	uint32_t end = (uint32_t)((p + 1ull) * a->count / a->parts);
	cleanup(opened_done) struct opened o = {0};
	int r = opened_init(&o, a->index, a->of);

	for (uint32_t i = (uint32_t)((uint64_t)p * a->count / a->parts); !r && i < end; i++) {
		r = matcher_cancelled(a->of->matcher, &a->err[p]);
		if (!r && a->moments)
			r = find_moment(&o, &a->spans[i], a->blocks, &a->moments[i], &a->err[p]);
		else if (!r)
			r = fill_span(&o, &a->spans[i], &a->err[p]);
	}
	return r;
}

static int usage_index_ask(struct asking *asking, struct err_text *err)
{
	int r;

	asking->parts = asking->count < PARTS ? asking->count : PARTS;
	r = parallel_run(&(struct parallel_work){
		.parts = asking->parts, .context = asking, .run = usage_index_run_part});
	for (unsigned p = 0; r < 0 && p < asking->parts; p++)
		if (asking->err[p].text[0])
			return err_set(err, r, "%s", asking->err[p].text);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

int usage_index_spans(const struct usage_index *index, const struct history_of *of,
		      struct usage_span *spans, uint32_t count, struct err_text *err)
{
	return usage_index_ask(
		&(struct asking){.index = index, .of = of, .spans = spans, .count = count}, err);
}

int usage_index_peaks(const struct usage_index *index, const struct history_of *of,
		      const struct usage_span *spans, uint32_t count, bool blocks,
		      uint64_t *ret_moments, struct err_text *err)
{
	return usage_index_ask(&(struct asking){.index = index,
						.of = of,
						.spans = (struct usage_span *)(uintptr_t)spans,
						.moments = ret_moments,
						.blocks = blocks,
						.count = count},
			       err);
}
