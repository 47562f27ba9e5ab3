/* Divides the time into bins, and finds the events that are far from their rows. See history.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/history_parts.h"
#include "collector/query/sweep/sweep.h"

#include "base/ban.h"

#define SEGMENT_ROWS 1024u
#define FAR_ROOM     (1u << 20)
#define FAR_MOST     16384u /* per bin; a bin with more is divided */
#define FAR_WANTED   4096u
#define KNOWN_PARTS  16u
/* Maximum number of times that bins are divided again. By then they are as short, or as even, as
 * possible. */
#define CUTS 5

static uint32_t segment_rows = SEGMENT_ROWS;
static uint64_t far_room = FAR_ROOM;

void history_set_sizes(uint32_t rows, uint64_t room)
{
	segment_rows = rows ? rows : SEGMENT_ROWS;
	far_room = room ? room : FAR_ROOM;
}

uint64_t history_far_room(void)
{
	return far_room;
}

/* ---- bins ---- */

void history_bins_done(struct history_bins *bins)
{
	free(bins->start);
	free(bins->segment);
	free(bins->near_from);
	free(bins->near_to);
	*bins = (struct history_bins){0};
}

uint32_t history_bins_find(const struct history_bins *bins, uint64_t time_ns)
{
	uint32_t low = 0, high = bins->count; /* invariant: start[low] <= time_ns < start[high] */

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (bins->start[middle] <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int history_bins_reach(struct history_bins *bins)
{
	uint32_t from = 0, to = 0;

	bins->near_from = malloc(((size_t)bins->segments + 1) * sizeof(*bins->near_from));
	bins->near_to = malloc(((size_t)bins->segments + 1) * sizeof(*bins->near_to));
	if (!bins->near_from || !bins->near_to)
		return -ENOMEM;
	for (uint32_t s = 0; s < bins->segments; s++) {
		while (from < bins->count && bins->segment[from] < s)
			from++;
		while (to < bins->count && bins->segment[to] <= s + HISTORY_NEAR)
			to++;
		bins->near_from[s] = bins->start[from];
		bins->near_to[s] = bins->start[to];
	}
	return 0;
}

struct starts {
	uint32_t rows; /* per segment */
	uint64_t *birth_ns;
};

static int take_starts(void *context, const struct row_block *block, const struct row_set *rows)
{
	const struct starts *s = context;
	uint64_t row = block->first_row + rows->first, end = row + rows->count;

	for (row = (row + s->rows - 1) / s->rows * s->rows; row < end; row += s->rows)
		s->birth_ns[row / s->rows] = birth_time(block, (uint32_t)(row - block->first_row));
	return 0;
}

/* Makes a bin for each segment. Of segments that begin in the same nanosecond, only the last has
 * one. */
static void cut_at_starts(struct history_bins *bins, const uint64_t *births)
{
	uint64_t at = 0;

	for (uint32_t s = 0; s < bins->segments; s++) {
		if (s && births[s] > at)
			at = births[s];
		if (bins->count && bins->start[bins->count - 1] == at)
			bins->count--;
		bins->segment[bins->count] = s;
		bins->start[bins->count++] = at;
	}
	if (!bins->count) {
		bins->segment[0] = 0;
		bins->start[bins->count++] = 0;
	}
	bins->start[bins->count] = UINT64_MAX;
}

/* Returns 1 if the bins fit and were copied, 0 if they do not fit, or -ENOMEM. */
static int bins_copy(struct history_bins *bins, const struct history_bins *like, uint64_t rows)
{
	size_t starts;

	if (!like || like->rows != rows || like->segment_rows != segment_rows)
		return 0;
	*bins = (struct history_bins){.rows = rows,
				      .segment_rows = segment_rows,
				      .segments = like->segments,
				      .count = like->count};
	starts = ((size_t)bins->count + 1) * sizeof(*bins->start);
	bins->start = malloc(starts);
	bins->segment = malloc((size_t)bins->count * sizeof(*bins->segment));
	if (!bins->start || !bins->segment)
		return -ENOMEM;
	memcpy(bins->start, like->start, starts);
	memcpy(bins->segment, like->segment, (size_t)bins->count * sizeof(*bins->segment));
	return history_bins_reach(bins) ? -ENOMEM : 1;
}

static int bins_init(struct history_bins *bins, const struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *births = NULL;
	struct matcher all;
	int r;

	*bins = (struct history_bins){.rows = m->rows, .segment_rows = segment_rows};
	bins->segments = (uint32_t)((m->rows + segment_rows - 1) / segment_rows);
	births = calloc((size_t)bins->segments + 1, sizeof(*births));
	bins->start = malloc(((size_t)bins->segments + 2) * sizeof(*bins->start));
	bins->segment = malloc(((size_t)bins->segments + 2) * sizeof(*bins->segment));
	if (!births || !bins->start || !bins->segment)
		return -ENOMEM;
	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	r = sweep_run(&(struct sweep){.matcher = &all,
				      .columns = ROWS_BIRTH,
				      .context = &(struct starts){segment_rows, births},
				      .part_rows = take_starts},
		      err);
	if (r < 0)
		return r;
	cut_at_starts(bins, births);
	return history_bins_reach(bins);
}

/* ---- far events ---- */

typedef void far_visitor(void *context, uint32_t bin, const struct history_event *event);

struct far_sweep {
	const struct history_of *of;
	const struct history_bins *bins;
	uint64_t from, to; /* only events from `from` to before `to` */
	void *context;
	far_visitor *visit;
};

static inline void visit_if(const struct far_sweep *s, const struct history_event *e)
{
	if (e->time_ns >= s->from && e->time_ns < s->to)
		s->visit(s->context, history_bins_find(s->bins, e->time_ns), e);
}

static void visit_row(const struct far_sweep *s, const struct row_block *block, uint32_t i,
		      bool far_birth, bool far_death)
{
	struct history_event event, end;

	event = named_birth_of(s->of, block, i);
	end = death_of(&event, death_time(block, i));
	if (far_birth)
		visit_if(s, &event);
	if (far_death)
		visit_if(s, &end);
}

/* Visits rows from `k` on that lie in one segment. Returns the first row that does not. Most events
 * are near, and cost only two comparisons. */
static uint32_t visit_segment(const struct far_sweep *s, const struct row_block *block,
			      const struct row_set *rows, uint32_t k)
{
	uint32_t segment = (uint32_t)((block->first_row + row_at(rows, k)) / s->bins->segment_rows);
	uint64_t from = s->bins->near_from[segment], span = s->bins->near_to[segment] - from;
	uint64_t end = (segment + 1ull) * s->bins->segment_rows - block->first_row;

	for (; k < rows->count && row_at(rows, k) < end; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t birth = birth_time(block, i), death = death_time(block, i);
		bool far_birth = birth - from >= span,
		     far_death = (death - from >= span) & (death < NO_TIME);

		if (__builtin_expect(far_birth | far_death, 0))
			visit_row(s, block, i, far_birth, far_death);
	}
	return k;
}

static void visit_far(const struct far_sweep *s, const struct row_block *block,
		      const struct row_set *rows)
{
	for (uint32_t k = 0; k < rows->count;)
		k = visit_segment(s, block, rows, k);
}

/* ---- counting ---- */

/* The far events found: of all rows, or of the rows of a part. */
struct counting {
	struct far_sweep sweep;
	struct counting *whole;
	uint32_t *counts;
	struct history_event *list;
	size_t count, capacity;
	uint64_t taken; /* in `whole`: room in all lists */
	bool full;	/* in `whole`: the lists are incomplete and thus useless */
};

/* Makes room for one more event in the list. Returns false if there is none. */
static bool history_bins_keeps(struct counting *c)
{
	size_t more = c->capacity ? c->capacity : 1024;
	struct history_event *list;

	if (__atomic_load_n(&c->whole->full, __ATOMIC_RELAXED))
		return false;
	if (c->count < c->capacity)
		return true;
	if (__atomic_add_fetch(&c->whole->taken, more, __ATOMIC_RELAXED) <= history_far_room()) {
		list = reallocarray(c->list, c->capacity + more, sizeof(*list));
		if (list) {
			c->list = list;
			c->capacity += more;
			return true;
		}
	}
	__atomic_store_n(&c->whole->full, true, __ATOMIC_RELAXED);
	return false;
}

static void count_far(void *context, uint32_t bin, const struct history_event *event)
{
	struct counting *c = context;

	c->counts[bin]++;
	if (history_bins_keeps(c))
		c->list[c->count++] = *event;
}

static int count_new(void *context, void **ret_part)
{
	struct counting *whole = context, *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	part->sweep = whole->sweep;
	part->sweep.context = part;
	part->whole = whole;
	part->counts = calloc(whole->sweep.bins->count, sizeof(*part->counts));
	return part->counts ? 0 : -ENOMEM;
}

static int history_bins_count_rows(void *part, const struct row_block *block,
				   const struct row_set *rows)
{
	visit_far(&((struct counting *)part)->sweep, block, rows);
	return 0;
}

static int append_list(struct counting *whole, const struct counting *part)
{
	struct history_event *list;

	if (whole->count + part->count > whole->capacity) {
		whole->capacity = 2 * (whole->count + part->count);
		if (whole->capacity > history_far_room()) /* all lists together hold no more */
			whole->capacity = history_far_room();
		list = reallocarray(whole->list, whole->capacity, sizeof(*list));
		if (!list)
			return -ENOMEM;
		whole->list = list;
	}
	if (part->count)
		memcpy(whole->list + whole->count, part->list, part->count * sizeof(*part->list));
	whole->count += part->count;
	return 0;
}

static int count_merge(void *context, void *part)
{
	struct counting *whole = context;
	const struct counting *c = part;

	for (uint32_t k = 0; k < whole->sweep.bins->count; k++)
		whole->counts[k] += c->counts[k];
	return __atomic_load_n(&whole->full, __ATOMIC_RELAXED) ? 0 : append_list(whole, c);
}

static void count_free(void *part)
{
	free(((struct counting *)part)->counts);
	free(((struct counting *)part)->list);
	free(part);
}

/* Counts the far events of each bin, and collects them. The caller frees the counts and the
 * list. */
static int count_all(const struct history_of *of, const struct history_bins *bins,
		     uint32_t **ret_counts, struct far_all *ret_all, struct err_text *err)
{
	struct counting counting = {
		.sweep = {.of = of, .bins = bins, .to = UINT64_MAX, .visit = count_far},
		.counts = calloc(bins->count, sizeof(*counting.counts)),
	};
	int r = counting.counts ? 0 : -ENOMEM;

	if (!r)
		r = sweep_run(&(struct sweep){.matcher = of->matcher,
					      .columns = history_columns(of),
					      .context = &counting,
					      .part_new = count_new,
					      .part_rows = history_bins_count_rows,
					      .part_merge = count_merge,
					      .part_free = count_free},
			      err);
	if (r < 0 || counting.full)
		free(take_ptr(counting.list));
	if (r < 0)
		free(counting.counts);
	else
		*ret_counts = counting.counts;
	*ret_all = (struct far_all){counting.list, counting.count, !r && !counting.full};
	return r;
}

/* ---- far events that are known ---- */

struct known {
	const struct far_all *all;
	const struct far_sweep *sweep;
};

static int visit_known(void *context, unsigned part)
{
	const struct known *k = context;
	size_t end = (part + 1) * k->all->count / KNOWN_PARTS;

	for (size_t i = part * k->all->count / KNOWN_PARTS; i < end; i++)
		visit_if(k->sweep, &k->all->list[i]);
	return 0;
}

/* Visits them in several threads. */
static int visit_all_known(const struct far_all *all, const struct far_sweep *sweep)
{
	return parallel_run(&(struct parallel_work){
		.parts = KNOWN_PARTS, .context = &(struct known){all, sweep}, .run = visit_known});
}

static void count_known(void *context, uint32_t bin, const struct history_event *event)
{
	uint32_t *counts = context;

	(void)event;
	__atomic_fetch_add(&counts[bin], 1, __ATOMIC_RELAXED);
}

/* Counts again after bins were divided. */
static int count_again(const struct history_of *of, const struct history_bins *bins,
		       uint32_t **counts, struct far_all *all, struct err_text *err)
{
	struct far_sweep sweep = {.of = of, .bins = bins, .to = UINT64_MAX, .visit = count_known};

	free(take_ptr(*counts));
	if (!all->known)
		return count_all(of, bins, counts, all, err);
	sweep.context = *counts = calloc(bins->count, sizeof(**counts));
	return *counts ? visit_all_known(all, &sweep) : -ENOMEM;
}

static uint32_t cuts_of(const struct history_bins *bins, const uint32_t *counts, uint32_t bin,
			uint64_t end)
{
	uint64_t span = (bins->start[bin + 1] < end ? bins->start[bin + 1] : end) -
			bins->start[bin],
		 cuts = counts[bin] / FAR_WANTED + 1;

	if (counts[bin] <= FAR_MOST || bins->start[bin] >= end)
		return 1;
	return (uint32_t)(cuts < span ? cuts : span);
}

/* Divides bins with many far events into equal parts. The last bin has no end, so the end of the
 * recording is used. Returns 1 if any bin was divided, 0 if none had to be, or a negative errno. */
static int cut_bins(struct history_bins *bins, const uint32_t *counts, uint64_t end)
{
	struct history_bins cut = {0};
	uint64_t total = 0;

	for (uint32_t k = 0; k < bins->count; k++)
		total += cuts_of(bins, counts, k, end);
	if (total == bins->count)
		return 0;
	cut.start = malloc((total + 1) * sizeof(*cut.start));
	cut.segment = malloc((total + 1) * sizeof(*cut.segment));
	if (!cut.start || !cut.segment || total >= UINT32_MAX) {
		history_bins_done(&cut);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k < bins->count; k++) {
		uint32_t cuts = cuts_of(bins, counts, k, end);
		uint64_t to = bins->start[k + 1] < end ? bins->start[k + 1] : end,
			 width = (to - bins->start[k]) / cuts;

		for (uint32_t c = 0; c < cuts; c++) {
			cut.segment[cut.count] = bins->segment[k];
			cut.start[cut.count++] = bins->start[k] + c * width;
		}
	}
	cut.start[cut.count] = UINT64_MAX;
	free(bins->start);
	free(bins->segment);
	bins->start = cut.start;
	bins->segment = cut.segment;
	bins->count = cut.count;
	return 1;
}

int history_bins_make(const struct history_of *of, struct history_bins *bins, uint32_t **ret_counts,
		      struct far_all *ret_all, struct err_text *err)
{
	cleanup(cleanup_free) uint32_t *counts = NULL;
	struct far_all all = {0};
	int r = bins_copy(bins, of->like, of->matcher->rows);

	if (!r)
		r = bins_init(bins, of->matcher, err);
	if (r >= 0)
		r = count_all(of, bins, &counts, &all, err);
	for (unsigned c = 0; !r && c < CUTS; c++) {
		r = cut_bins(bins, counts,
			     of->matcher->end_ns < NO_TIME ? of->matcher->end_ns + 1 : NO_TIME);
		if (r <= 0)
			break;
		r = count_again(of, bins, &counts, &all, err);
	}
	*ret_all = all;
	if (!r)
		*ret_counts = take_ptr(counts);
	return r;
}

static void put_far(void *context, uint32_t bin, const struct history_event *event)
{
	struct far_events *far = context;

	far->list[__atomic_fetch_add(&far->at[bin - far->first], 1, __ATOMIC_RELAXED)] = *event;
}

static int gather_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	visit_far(context, block, rows);
	return 0;
}

static bool born_later(const void *context, const struct row_block *zone)
{
	return zone->min.birth_ns >= ((const struct far_sweep *)context)->to;
}

int history_gather_far(const struct history_of *of, const struct history_bins *bins,
		       const uint32_t *counts, const struct far_all *all, struct far_events *far,
		       struct err_text *err)
{
	struct far_sweep gathering = {.of = of,
				      .bins = bins,
				      .from = bins->start[far->first],
				      .to = bins->start[far->end],
				      .context = far,
				      .visit = put_far};
	uint64_t total = 0;

	for (uint32_t k = far->first; k < far->end; k++) {
		far->at[k - far->first] = total;
		total += counts[k];
	}
	if (!total)
		return 0;
	if (all->known)
		return visit_all_known(all, &gathering);
	return sweep_run(&(struct sweep){.matcher = of->matcher,
					 .columns = history_columns(of),
					 .context = &gathering,
					 .skips = born_later,
					 .part_rows = gather_rows},
			 err);
}
