/* Reads what the streams of a store had in use. See fleet.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/fleet/matrix.h"
#include "collector/query/moments.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define TEXT_MAX 255 /* of names of hosts and builds */

DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

struct loading {
	struct store *store;
	struct symbols *symbols;
	const struct fleet_question *question;
	struct stream_summary *streams;
	size_t count;
	struct fleet_matrix *matrix;
	struct fleet_report *report;
};

/* ---- the moments ---- */

#define MINUTE 60
#define HOUR   3600

static const uint32_t step_seconds[] = {
	1,	     2,		 5,	     10,	  20,	       30,
	MINUTE,	     2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE,
	30 * MINUTE, HOUR,	 2 * HOUR,   3 * HOUR,	  4 * HOUR,    6 * HOUR,
	12 * HOUR,   24 * HOUR,	 48 * HOUR,  120 * HOUR,  240 * HOUR};
#define MINUTES_LEAST 8 /* of recording, below which steps are seconds */

/* 2015: a clock that shows less was never set. */
#define CLOCK_LEAST (1420070400ull * 1000000000)

static bool has_clock(const struct fleet_matrix *m, const struct stream_summary *s)
{
	return m->by_age || s->start_wall_ns >= CLOCK_LEAST;
}

static uint64_t stream_start_ns(const struct fleet_matrix *m, const struct stream_summary *s)
{
	return m->by_age ? 0 : s->start_wall_ns;
}

static void find_span(const struct loading *l, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = UINT64_MAX;
	*ret_to = 0;
	for (size_t i = 0; i < l->count; i++) {
		uint64_t start = stream_start_ns(l->matrix, &l->streams[i]),
			 end = start + l->streams[i].last_ns;

		if (!has_clock(l->matrix, &l->streams[i]))
			continue;
		*ret_from = start < *ret_from ? start : *ret_from;
		*ret_to = end > *ret_to ? end : *ret_to;
	}
	if (*ret_from > *ret_to)
		*ret_from = *ret_to;
	if (l->question->last_ns && *ret_to - *ret_from > l->question->last_ns)
		*ret_from = *ret_to - l->question->last_ns;
}

/* Returns the number of multiples of `step` in a span, and the first of them. */
static uint64_t multiples(uint64_t from, uint64_t to, uint64_t step, uint64_t *ret_first)
{
	*ret_first = (from + step - 1) / step * step;
	return *ret_first <= to ? (to - *ret_first) / step + 1 : 0;
}

static uint64_t choose_step(uint64_t from, uint64_t to)
{
	uint64_t first, step = 0;
	bool minutes = multiples(from, to, FLEET_STEP_NS, &first) >= MINUTES_LEAST;

	for (size_t i = 0; i < sizeof(step_seconds) / sizeof(*step_seconds); i++) {
		step = step_seconds[i] * 1000000000ull;
		if ((step >= FLEET_STEP_NS || !minutes) &&
		    multiples(from, to, step, &first) <= FLEET_MOMENTS_MAX)
			break;
	}
	return step;
}

static int choose_moments(struct loading *l, struct err_text *err)
{
	struct fleet_matrix *m = l->matrix;
	uint64_t from, to, count;

	m->by_age = l->question->by_age;
	find_span(l, &from, &to);
	m->step_ns = l->question->step_ns ? l->question->step_ns : choose_step(from, to);
	count = multiples(from, to, m->step_ns, &m->from_ns);
	if (!count)
		return err_set(err, -ENODATA,
			       "no stream lasts until a multiple of the step: a shorter --step may "
			       "do, or a longer recording");
	/* The last ones count. */
	if (count > FLEET_MOMENTS_MAX) {
		m->from_ns += (count - FLEET_MOMENTS_MAX) * m->step_ns;
		count = FLEET_MOMENTS_MAX;
		l->report->cut = true;
	}
	m->moments = (uint32_t)count;
	return 0;
}

/* ---- a stream ---- */

/* Finds the moments at which a stream has data. Returns their number. */
static uint32_t stream_moments(const struct fleet_matrix *m, const struct stream_summary *s,
			       uint32_t *ret_first, uint64_t moments[FLEET_MOMENTS_MAX])
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < m->moments; k++) {
		uint64_t at = m->from_ns + k * m->step_ns, start = stream_start_ns(m, s);

		if (at < start || at - start > s->last_ns)
			continue;
		if (!count)
			*ret_first = k;
		moments[count++] = at - start;
	}
	return count;
}

static int add_moments(struct fleet_matrix *m, uint32_t unit, uint32_t first, uint32_t count,
		       const struct moments *from)
{
	int r = 0;

	for (uint32_t g = 0; !r && g < from->count; g++) {
		uint32_t function = fleet_function_number(m, from->groups[g].function,
							  module_basename(from->groups[g].module));

		if (!function)
			return -ENOMEM;
		for (uint32_t k = 0; !r && k < count; k++)
			r = fleet_add(m, unit, function, first + k,
				      from->bytes[(size_t)k * from->stride + 1 + g]);
	}
	return r;
}

/* By age a process is a board of its own, HOST/PID. */
static int64_t unit_of(const struct loading *l, const struct stream_summary *s)
{
	const char *tag = l->question->build_tag, *value = NULL;
	char host[TEXT_MAX + 32], build[TEXT_MAX + 1];
	size_t length = 0;

	snprintf(host, sizeof(host), "%.*s", TEXT_MAX, s->host);
	if (l->matrix->by_age)
		snprintf(host + strlen(host), 32, "/%u", s->pid);
	if (tag)
		value = labels_tag(s->labels.tags, tag, strlen(tag), &length);
	if (value)
		snprintf(build, sizeof(build), "%.*s", (int)(length < TEXT_MAX ? length : TEXT_MAX),
			 value);
	else
		snprintf(build, sizeof(build), "%.*s", TEXT_MAX, s->labels.build);
	return fleet_unit_number(l->matrix, s->name, host, build);
}

static int load_stream(struct loading *l, const struct stream_summary *s, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(l->store, &s->id);
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(moments_done) struct moments answer = {0};
	/* What is hidden must not depend on the board. */
	struct filter filter;
	uint64_t moments[FLEET_MOMENTS_MAX];
	uint32_t first = 0, count = stream_moments(l->matrix, s, &first, moments);
	int64_t unit;
	int r;

	if (!count && has_clock(l->matrix, s))
		return 0;
	filter_init(&filter);
	filter.hide = HIDE_RULES;
	filter.cancel.asked = l->question->cancelled;
	r = path ? recording_open(path, NULL, NULL, &recording, err) : -ENOMEM;
	if (!r && !has_clock(l->matrix, s))
		r = err_set(err, -EINVAL,
			    "the clock of %.200s was not set when it began (--align start compares "
			    "by age)",
			    s->host);
	if (!r)
		r = view_new(recording, l->symbols, &view, err);
	if (r < 0)
		return r;
	view_set_rules(view, l->question->rules);
	r = query_moments(view, &filter, moments, count, &answer, err);
	if (r < 0)
		return r;
	unit = unit_of(l, s);
	if (unit < 0)
		return (int)unit;
	fleet_was_there(&l->matrix->units[unit], first, first + count - 1);
	if (stream_start_ns(l->matrix, s) < l->matrix->units[unit].began_ns)
		l->matrix->units[unit].began_ns = stream_start_ns(l->matrix, s);
	l->report->streams++;
	return add_moments(l->matrix, (uint32_t)unit, first, count, &answer);
}

static int load_all(struct loading *l, struct err_text *err)
{
	const struct fleet_question *q = l->question;
	int r = 0;

	for (size_t i = 0; !r && i < l->count; i++) {
		struct err_text why = {0};

		if (q->cancelled && atomic_load(q->cancelled))
			return -ECANCELED;
		if (q->progress)
			q->progress(q->progress_context, i, l->count);
		r = load_stream(l, &l->streams[i], &why);
		if (r == -ENOMEM || r == -ECANCELED)
			return err_set(err, r, "%s", strerror(-r));
		if (r < 0 && !l->report->unread++) {
			uint32_t text = fleet_text(l->matrix, err_get(&why, r));

			l->report->unread_why = intern_get(&l->matrix->texts, text);
		}
		r = 0;
	}
	if (q->progress)
		q->progress(q->progress_context, l->count, l->count);
	return r;
}

/* ---- all ---- */

static void drop_snapshots(struct stream_summary *list, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		struct stream_summary s = list[i];

		if (s.is_snapshot)
			continue;
		list[i] = list[kept];
		list[kept++] = s;
	}
	store_list_drop(list, kept, *count);
	*count = kept;
}

static int stream_order(const void *a, const void *b)
{
	const struct stream_summary *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

static int list_streams(struct loading *l, struct err_text *err)
{
	int r = l->question->select ? store_list_selected(l->store, l->question->select, false,
							  &l->streams, &l->count, err)
				    : store_list_quickly(l->store, &l->streams, &l->count, err);

	if (r < 0)
		return r;
	l->report->unread = store_list_left_out(l->store);
	if (l->report->unread)
		l->report->unread_why = "it is no recording, or this user may not read it";
	drop_snapshots(l->streams, &l->count);
	if (l->count)
		qsort(l->streams, l->count, sizeof(*l->streams), stream_order);
	if (!l->count && l->report->unread)
		return err_set(err, -ENODATA, "no stream can be read: %s", l->report->unread_why);
	return l->count ? 0 : err_set(err, -ENODATA, "there are no such streams");
}

static int load_and_report(struct loading *l, struct err_text *err)
{
	int r = list_streams(l, err);

	if (!r)
		r = choose_moments(l, err);
	if (!r)
		r = load_all(l, err);
	if (r)
		return r;
	if (!l->report->streams)
		return err_set(err, -ENODATA, "no stream has data at a moment%s%s",
			       l->report->unread_why ? ": " : "",
			       l->report->unread_why ? l->report->unread_why : "");
	r = fleet_report_of(l->matrix, l->report);
	return r ? err_set(err, r, "out of memory") : 0;
}

int fleet_compare(struct store *store, struct symbols *symbols,
		  const struct fleet_question *question, struct fleet_report *ret_report,
		  struct err_text *err)
{
	struct fleet_matrix *matrix = calloc(1, sizeof(*matrix));
	struct loading l = {.store = store,
			    .symbols = symbols,
			    .question = question,
			    .matrix = matrix,
			    .report = ret_report};
	int r;

	*ret_report = (struct fleet_report){.owned = matrix};
	if (!matrix)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_and_report(&l, err);
	store_list_free(l.streams, l.count);
	if (r < 0)
		fleet_report_done(ret_report);
	return r;
}

void fleet_report_done(struct fleet_report *report)
{
	struct fleet_matrix *matrix = report->owned;

	for (size_t i = 0; i < report->finding_count; i++)
		free(report->findings[i].boards);
	free(report->findings);
	free(report->functions);
	if (matrix)
		fleet_matrix_done(matrix);
	free(matrix);
	*report = (struct fleet_report){0};
}
