/* Chooses the moments of a comparison, and has its source add the streams. See fleet.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/fleet/clocks.h"
#include "collector/fleet/source.h"

#include "base/ban.h"

#define TEXT_MAX 255 /* of names of hosts and builds */

/* ---- the moments ---- */

#define MINUTE 60
#define HOUR   3600

static const uint32_t step_seconds[] = {
	1,	     2,		 5,	     10,	  20,	       30,
	MINUTE,	     2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE,
	30 * MINUTE, HOUR,	 2 * HOUR,   3 * HOUR,	  4 * HOUR,    6 * HOUR,
	12 * HOUR,   24 * HOUR,	 48 * HOUR,  120 * HOUR,  240 * HOUR};
#define MINUTES_LEAST 8 /* of recording, below which steps are seconds */

static uint64_t stream_start_ns(const struct fleet_matrix *m, const struct stream_summary *s)
{
	return m->by_age ? 0 : s->start_wall_ns;
}

static void find_span(struct fleet_loading *l, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = UINT64_MAX;
	*ret_to = 0;
	for (size_t i = 0; i < l->count; i++) {
		uint64_t start = stream_start_ns(l->matrix, &l->streams[i]),
			 end = start + l->streams[i].last_ns;

		*ret_from = start < *ret_from ? start : *ret_from;
		*ret_to = end > *ret_to ? end : *ret_to;
	}
	if (*ret_from > *ret_to)
		*ret_from = *ret_to;
	if (l->question->last_ns && *ret_to - *ret_from > l->question->last_ns)
		*ret_from = *ret_to - l->question->last_ns;
	if (!l->matrix->by_age && *ret_from < l->reach_ns) {
		*ret_from = l->reach_ns;
		l->report->cut = true;
	}
}

/* Returns the number of multiples of `step` in a span, and the first of them. */
static uint64_t multiples(uint64_t from, uint64_t to, uint64_t step, uint64_t *ret_first)
{
	*ret_first = (from + step - 1) / step * step;
	return *ret_first <= to ? (to - *ret_first) / step + 1 : 0;
}

static uint64_t choose_step(uint64_t from, uint64_t to, bool minutes)
{
	uint64_t first, step = 0;

	minutes |= multiples(from, to, FLEET_STEP_NS, &first) >= MINUTES_LEAST;

	for (size_t i = 0; i < sizeof(step_seconds) / sizeof(*step_seconds); i++) {
		step = step_seconds[i] * 1000000000ull;
		if ((step >= FLEET_STEP_NS || !minutes) &&
		    multiples(from, to, step, &first) <= FLEET_MOMENTS_MAX)
			break;
	}
	return step;
}

static int choose_moments(struct fleet_loading *l, bool minutes_only, struct err_text *err)
{
	struct fleet_matrix *m = l->matrix;
	uint64_t from, to, count;

	m->by_age = l->question->by_age;
	find_span(l, &from, &to);
	m->step_ns =
		l->question->step_ns ? l->question->step_ns : choose_step(from, to, minutes_only);
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

/* ---- for sources ---- */

/* Returns when moment k is, in nanoseconds since the epoch, or since the start if that is not
 * known. By age, steps of whole minutes end at whole minutes of the clock: sums by minute tell no
 * more. */
static uint64_t moment_of(const struct fleet_matrix *m, const struct stream_summary *s, uint32_t k)
{
	uint64_t at = m->from_ns + k * m->step_ns, ns = FLEET_STEP_NS;

	if (!m->by_age)
		return at;
	at += s->start_wall_ns;
	return m->step_ns % ns ? at : (at + ns - 1) / ns * ns;
}

uint32_t fleet_stream_moments(const struct fleet_loading *l, const struct stream_summary *s,
			      uint32_t *ret_first, uint64_t moments[FLEET_MOMENTS_MAX])
{
	const struct fleet_matrix *m = l->matrix;
	uint32_t count = 0;

	for (uint32_t k = 0; k < m->moments; k++) {
		uint64_t at = moment_of(m, s, k);

		if (at < s->start_wall_ns || at < l->reach_ns || at - s->start_wall_ns > s->last_ns)
			continue;
		if (!count)
			*ret_first = k;
		moments[count++] = at - s->start_wall_ns;
	}
	return count;
}

/* By age a process is a board of its own, HOST/PID. */
static int64_t unit_of(const struct fleet_loading *l, const struct stream_summary *s)
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

int64_t fleet_stream_add(struct fleet_loading *l, const struct stream_summary *s, uint32_t first,
			 uint32_t count)
{
	int64_t unit = unit_of(l, s);

	if (unit < 0)
		return unit;
	fleet_was_there(&l->matrix->units[unit], first, first + count - 1);
	if (stream_start_ns(l->matrix, s) < l->matrix->units[unit].began_ns)
		l->matrix->units[unit].began_ns = stream_start_ns(l->matrix, s);
	l->report->streams++;
	return unit;
}

void fleet_stream_unread(struct fleet_loading *l, const char *why)
{
	if (!l->report->unread++)
		l->report->unread_why = intern_get(&l->matrix->texts, fleet_text(l->matrix, why));
}

int fleet_loading_progress(const struct fleet_loading *l, uint64_t done)
{
	const struct fleet_question *q = l->question;

	if (q->cancelled && atomic_load(q->cancelled))
		return -ECANCELED;
	if (q->progress)
		q->progress(q->progress_context, done, l->count);
	return 0;
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

static int say_no_streams(const struct fleet_source *source, const char *select,
			  struct err_text *err)
{
	size_t waiting = 0;
	int r = source->waiting ? source->waiting(source->context, select, &waiting, err) : 0;

	if (r < 0)
		return r;
	if (waiting)
		return err_set(err, -ENODATA,
			       "no sums have come yet of %zu stream%s: those of a minute arrive "
			       "when it is complete",
			       waiting, waiting == 1 ? "" : "s");
	return err_set(err, -ENODATA, "there are no such streams");
}

int fleet_source_streams(const struct fleet_source *source, const char *select,
			 struct stream_summary **ret_list, size_t *ret_count, size_t *ret_left_out,
			 struct err_text *err)
{
	int r = source->list(source->context, select, ret_list, ret_count, ret_left_out, err);

	if (r < 0)
		return r;
	drop_snapshots(*ret_list, ret_count);
	if (*ret_count)
		qsort(*ret_list, *ret_count, sizeof(**ret_list), stream_order);
	if (!*ret_count && *ret_left_out)
		return err_set(err, -ENODATA, "no stream can be read: " FLEET_LEFT_OUT);
	return *ret_count ? 0 : say_no_streams(source, select, err);
}

int fleet_source_now(const struct fleet_source *source, uint64_t *ret_ns, struct err_text *err)
{
	struct timespec now;

	if (source->now)
		return source->now(source->context, ret_ns, err);
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}

static void drop_wrong(struct fleet_loading *l, const bool *wrong)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct stream_summary s = l->streams[i];

		if (wrong[i])
			continue;
		l->streams[i] = l->streams[kept];
		l->streams[kept++] = s;
	}
	store_list_drop(l->streams, kept, l->count);
	l->count = kept;
}

/* By age, it does not matter what clocks show. */
static int leave_out(struct fleet_loading *l, const struct fleet_source *source,
		     struct err_text *err)
{
	cleanup(cleanup_free) bool *wrong = calloc(l->count + 1, sizeof(*wrong));
	uint64_t now;
	int r = wrong ? 0 : -ENOMEM;

	if (l->question->by_age)
		return r;
	if (!r)
		r = fleet_source_now(source, &now, err);
	if (!r)
		r = fleet_clocks_judge(l->streams, l->count, now, wrong, &l->report->left_out);
	if (!r)
		drop_wrong(l, wrong);
	for (uint64_t i = 0; !r && i < l->report->left_out.timeless; i++)
		fleet_stream_unread(l, FLEET_TIMELESS " (--align start compares by age)");
	return r;
}

static int say_no_data(const struct fleet_report *report, struct err_text *err)
{
	const struct fleet_clocks *clocks = &report->left_out;

	if (!clocks->count)
		return err_set(err, -ENODATA, "no stream has data at a moment%s%s",
			       report->unread_why ? ": " : "",
			       report->unread_why ? report->unread_why : "");
	return err_set(err, -ENODATA,
		       "no stream has data at a moment. Of %u board%s the clock is wrong: %s "
		       "(--align start compares by age)",
		       clocks->count, clocks->count == 1 ? "" : "s", clocks->list[0].why);
}

static int list_streams(struct fleet_loading *l, const struct fleet_source *source,
			struct err_text *err)
{
	size_t left_out = 0;
	int r = fleet_source_streams(source, l->question->select, &l->streams, &l->count, &left_out,
				     err);

	l->report->unread = left_out;
	if (left_out)
		l->report->unread_why = FLEET_LEFT_OUT;
	return r;
}

static int check_step(const struct fleet_question *q, const struct fleet_source *source,
		      struct err_text *err)
{
	if (!source->minutes_only || q->step_ns % FLEET_STEP_NS == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "the shared store has sums by minute: --step takes whole "
		       "minutes there");
}

static int load_and_report(struct fleet_loading *l, const struct fleet_source *source,
			   struct err_text *err)
{
	int r = check_step(l->question, source, err);

	if (!r)
		r = list_streams(l, source, err);
	if (!r && source->reach)
		r = source->reach(source->context, &l->reach_ns, err);
	if (!r)
		r = leave_out(l, source, err);
	if (!r && !l->count)
		return say_no_data(l->report, err);
	if (!r)
		r = choose_moments(l, source->minutes_only, err);
	if (!r)
		r = source->load(source->context, l, err);
	if (r)
		return r;
	if (!l->report->streams)
		return say_no_data(l->report, err);
	r = fleet_report_of(l->matrix, l->report);
	return r ? err_set(err, r, "out of memory") : 0;
}

int fleet_compare(const struct fleet_source *source, const struct fleet_question *question,
		  struct fleet_report *ret_report, struct err_text *err)
{
	struct fleet_matrix *matrix = calloc(1, sizeof(*matrix));
	struct fleet_loading l = {.question = question, .matrix = matrix, .report = ret_report};
	int r;

	*ret_report = (struct fleet_report){.owned = matrix};
	if (!matrix)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_and_report(&l, source, err);
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
	fleet_clocks_done(&report->left_out);
	if (matrix)
		fleet_matrix_done(matrix);
	free(matrix);
	*report = (struct fleet_report){0};
}
