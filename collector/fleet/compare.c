/*
 * Compares the units of each program, function by function. See fleet.h.
 *
 * A board's *size* is how much it does: the median, over all functions, of what it holds beside the
 * median board (the median of ratios; Anders and Huber 2010, for counts of genes).
 * Boards that serve more users hold more everywhere, and do not differ by that.
 */
#include "collector/fleet/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#include "base/ban.h"

#define LEVEL_FLOOR    4096 /* bytes: below this, holding more or less says nothing */
#define SIZED_BY_LEAST 5    /* so many functions tell the size of a board */

static const char *text_of(const struct comparison *c, uint32_t number)
{
	return intern_get(&c->matrix->texts, number);
}

/* ---- findings ---- */

static const char *known(const char *text)
{
	return text && *text ? text : NULL;
}

struct fleet_finding *finding_add(struct comparison *c, enum fleet_kind kind)
{
	struct fleet_report *report = c->report;
	const struct fleet_place *place = &c->matrix->places[c->function];
	struct fleet_finding *list =
		reallocarray(report->findings, report->finding_count + 1, sizeof(*list));

	if (!list)
		return NULL;
	report->findings = list;
	list[report->finding_count] = (struct fleet_finding){
		.kind = kind,
		.program = text_of(c, c->program),
		.function = known(text_of(c, place->function)),
		.module = known(text_of(c, place->module)),
	};
	return &list[report->finding_count++];
}

int finding_add_board(struct comparison *c, struct fleet_finding *f, uint32_t unit, double bytes)
{
	struct fleet_board *boards = reallocarray(f->boards, f->count + 1, sizeof(*boards));

	if (!boards)
		return -ENOMEM;
	f->boards = boards;
	boards[f->count++] = (struct fleet_board){c->units[unit].host, llround(bytes)};
	return 0;
}

static int most_bytes_first(const void *a, const void *b)
{
	const struct fleet_board *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->host, y->host);
}

void finding_end(struct comparison *c, struct fleet_finding *f)
{
	if (!f)
		return;
	qsort(f->boards, f->count, sizeof(*f->boards), most_bytes_first);
	for (size_t i = 0; i < f->count; i++)
		f->bytes += f->boards[i].bytes;
	f->median = f->boards[f->count / 2].bytes;
	for (uint32_t u = 0; u < c->count; u++)
		f->of += c->units[u].told;
}

uint64_t run_time(const struct comparison *c, uint32_t unit, uint32_t moment)
{
	moment += c->units[unit].first;
	return moment ? c->matrix->from_ns + moment * c->matrix->step_ns : 0;
}

/* ---- courses ---- */

static const struct fleet_course *course_of(const struct comparison *c, uint32_t unit,
					    uint32_t function)
{
	const uint64_t *index =
		map_get(&c->matrix->courses, (uint64_t)c->units[unit].number << 32 | function);

	return index ? &c->matrix->list[*index - 1] : NULL;
}

/* Tells whether a unit's change from the moment before is one of its processes' memory. */
static bool goes_on(const struct fleet_unit *unit, uint32_t moment)
{
	return moment && unit->there >> (moment - 1) & 1 && !(unit->changed >> moment & 1);
}

/* `growth` false: only how much it holds. */
static void measure(const struct comparison *c, uint32_t unit, uint32_t function, bool growth,
		    struct measured *m)
{
	const struct compared_unit *u = &c->units[unit];
	const struct fleet_course *course = course_of(c, unit, function);
	uint32_t moments = c->matrix->moments, count = 0;
	double room[FLEET_MOMENTS_MAX];

	*m = (struct measured){0};
	if (!course)
		return;
	m->lowest = INFINITY;
	for (uint32_t k = 0; k < moments; k++) {
		if (!(u->unit->there >> k & 1))
			continue;
		m->bytes[k] = (double)course->bytes[k];
		if (k >= moments - (moments + 3) / 4)
			room[count++] = m->bytes[k];
		if (k >= moments / 2)
			m->lowest = fmin(m->lowest, m->bytes[k]);
	}
	m->level = stats_median(room, count);
	if (growth && u->told)
		m->growth = stats_growth_of(m->bytes + u->first, u->count, u->young);
}

bool growth_between(const struct comparison *c, uint32_t unit, uint32_t first, uint32_t count,
		    double *ret_growth)
{
	const struct compared_unit *u = &c->units[unit];

	if (!u->told || first < u->first || first + count > u->first + u->count)
		return false;
	*ret_growth = stats_rise_of(c->measured[unit].bytes + first, count) / u->size;
	return true;
}

double measured_normal(const struct comparison *c, uint32_t unit, double bytes)
{
	return log(fmax(bytes, 0) / c->units[unit].size + LEVEL_FLOOR);
}

uint32_t mean_course(const struct comparison *c, const bool *chosen,
		     double course[FLEET_MOMENTS_MAX], uint32_t *ret_first)
{
	uint32_t count = 0;
	double grown = 0;

	for (uint32_t k = 0; k < c->matrix->moments; k++) {
		double sum = 0;
		uint32_t there = 0, of = 0;

		for (uint32_t u = 0; u < c->count; u++) {
			const struct fleet_unit *unit = c->units[u].unit;

			there += chosen[u] && unit->there >> k & 1;
			if (!chosen[u] || !(unit->there >> k & 1) || !goes_on(unit, k))
				continue;
			sum += c->measured[u].bytes[k] - c->measured[u].bytes[k - 1];
			of++;
		}
		grown += of ? sum / of : 0;
		if (!there)
			continue;
		if (!count)
			*ret_first = k;
		course[count++] = grown;
	}
	return count;
}

/* ---- units, builds, functions ---- */

static int by_host(const void *a, const void *b, void *context)
{
	const struct compared_unit *x = a, *y = b;
	const struct comparison *c = context;
	int r = strcmp(x->host, y->host);

	return r ? r : strcmp(text_of(c, x->unit->build), text_of(c, y->unit->build));
}

static void find_run(const struct comparison *c, struct compared_unit *u)
{
	uint32_t first = 0, moments = c->matrix->moments, late = 0;
	uint64_t began;

	for (uint32_t k = 0; k < moments; k++) {
		bool there = u->unit->there >> k & 1;

		late += there && k >= moments - (moments + 3) / 4;
		if (!there || !goes_on(u->unit, k))
			first = k;
		if (!there || (k + 1 - first < u->count && k + 1 - first < STATS_COURSE_LEAST))
			continue;
		u->first = first;
		u->count = k + 1 - first;
	}
	began = c->matrix->from_ns + u->first * c->matrix->step_ns;
	u->told = u->count >= STATS_COURSE_LEAST;
	u->young = u->first || began < u->unit->began_ns + (u->count - 1) * c->matrix->step_ns;
	u->holds = 2 * late > (moments + 3) / 4;
	u->size = 1;
}

static int list_units(struct comparison *c)
{
	const struct fleet_matrix *m = c->matrix;

	c->units = calloc((size_t)m->unit_count + 1, sizeof(*c->units));
	if (!c->units)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->unit_count; i++) {
		struct compared_unit *u = &c->units[c->count];

		if (m->units[i].program != c->program || !m->units[i].there)
			continue;
		*u = (struct compared_unit){
			.unit = &m->units[i], .number = i, .host = text_of(c, m->units[i].host)};
		find_run(c, u);
		c->count++;
	}
	qsort_r(c->units, c->count, sizeof(*c->units), by_host, c);
	return 0;
}

static int by_beginning(const void *a, const void *b, void *context)
{
	const struct compared_build *x = a, *y = b;

	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return strcmp(text_of(context, x->text), text_of(context, y->text));
}

static struct compared_build *build_of(struct comparison *c, uint32_t text)
{
	for (uint32_t b = 0; b < c->build_count; b++)
		if (c->builds[b].text == text)
			return &c->builds[b];
	c->builds[c->build_count] = (struct compared_build){.text = text, .began_ns = UINT64_MAX};
	return &c->builds[c->build_count++];
}

/* Finds moments that at least half of a build's runs cover: from the third quartile of their
 * beginnings to the first quartile of their ends. */
static void find_common_run(const struct comparison *c, struct compared_build *b, uint32_t number)
{
	uint32_t count = 0, end;

	for (uint32_t u = 0; u < c->count; u++) {
		if (!c->units[u].told || c->units[u].build != number)
			continue;
		c->values[count] = c->units[u].first;
		c->others[count++] = c->units[u].first + c->units[u].count;
	}
	b->first = (uint32_t)ceil(stats_quantile(c->values, count, 0.75));
	end = (uint32_t)stats_quantile(c->others, count, 0.25);
	b->count = end > b->first ? end - b->first : 0;
}

static void pair_builds(struct comparison *c)
{
	for (uint32_t b = 0; b < c->build_count; b++) {
		c->builds[b].earlier = b;
		find_common_run(c, &c->builds[b], b);
		for (uint32_t e = b; e-- > 0 && c->builds[b].earlier == b;)
			if (c->builds[e].judged >= FLEET_BUILD_LEAST)
				c->builds[b].earlier = e;
	}
}

static int list_builds(struct comparison *c)
{
	c->builds = calloc((size_t)c->count + 1, sizeof(*c->builds));
	if (!c->builds)
		return -ENOMEM;
	for (uint32_t u = 0; u < c->count; u++) {
		struct compared_build *b = build_of(c, c->units[u].unit->build);

		b->units++;
		b->judged += c->units[u].told;
		if (c->units[u].unit->began_ns < b->began_ns)
			b->began_ns = c->units[u].unit->began_ns;
	}
	qsort_r(c->builds, c->build_count, sizeof(*c->builds), by_beginning, c);
	for (uint32_t u = 0; u < c->count; u++)
		c->units[u].build = (uint32_t)(build_of(c, c->units[u].unit->build) - c->builds);
	pair_builds(c);
	return 0;
}

static int by_name(const void *a, const void *b, void *context)
{
	const struct comparison *c = context;
	const struct fleet_place *x = &c->matrix->places[*(const uint32_t *)a],
				 *y = &c->matrix->places[*(const uint32_t *)b];
	int r = strcmp(text_of(c, x->function), text_of(c, y->function));

	return r ? r : strcmp(text_of(c, x->module), text_of(c, y->module));
}

static int list_functions(struct comparison *c)
{
	const struct fleet_matrix *m = c->matrix;
	cleanup(cleanup_free) bool *seen = calloc((size_t)m->functions.count + 1, sizeof(*seen));

	c->functions = calloc((size_t)m->functions.count + 1, sizeof(*c->functions));
	if (!seen || !c->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->count; i++) {
		const struct fleet_course *course = &m->list[i];

		if (m->units[course->unit].program != c->program || seen[course->function])
			continue;
		seen[course->function] = true;
		c->functions[c->function_count++] = course->function;
	}
	qsort_r(c->functions, c->function_count, sizeof(*c->functions), by_name, c);
	return 0;
}

/* ---- sizes of boards ---- */

static void measure_all(struct comparison *c, uint32_t function, bool growth)
{
	c->function = function;
	for (uint32_t u = 0; u < c->count; u++)
		measure(c, u, function, growth, &c->measured[u]);
}

/* Adds, for each unit, what it holds of this function beside the median board. Returns false if the
 * function tells nothing of size. */
static bool take_ratios(struct comparison *c, double *ratios)
{
	uint32_t judged = 0, holding = 0;
	double median;

	for (uint32_t u = 0; u < c->count; u++) {
		if (!c->units[u].holds)
			continue;
		c->values[judged++] = c->measured[u].level;
		holding += c->measured[u].level > 0;
	}
	median = stats_median(c->values, judged);
	if (median < LEVEL_FLOOR || holding < judged)
		return false;
	for (uint32_t u = 0; u < c->count; u++)
		ratios[u] = c->units[u].holds ? log(c->measured[u].level / median) : 0;
	return true;
}

static int find_sizes(struct comparison *c)
{
	cleanup(cleanup_free) double *ratios =
		calloc((size_t)c->function_count * c->count + 1, sizeof(*ratios));
	cleanup(cleanup_free) double *room = calloc((size_t)c->function_count + 1, sizeof(*room));
	uint32_t rows = 0, judged = 0;

	if (!ratios || !room)
		return -ENOMEM;
	for (uint32_t f = 0; f < c->function_count; f++) {
		measure_all(c, c->functions[f], false);
		for (uint32_t u = 0; u < c->count; u++)
			c->units[u].total += c->measured[u].level;
		rows += take_ratios(c, ratios + (size_t)rows * c->count);
	}
	for (uint32_t u = 0; u < c->count; u++) {
		for (uint32_t k = 0; k < rows; k++)
			room[k] = ratios[(size_t)k * c->count + u];
		if (rows >= SIZED_BY_LEAST)
			c->units[u].size = exp(stats_median(room, rows));
		if (c->units[u].holds)
			c->values[judged++] = c->units[u].total;
	}
	c->total = stats_median(c->values, judged);
	return 0;
}

/* ---- a function's row ---- */

static int add_function(struct comparison *c)
{
	struct fleet_report *report = c->report;
	struct fleet_function *list = reallocarray(report->functions, report->function_count + 1,
						   sizeof(*list)),
			      *f;
	const struct fleet_place *place = &c->matrix->places[c->function];
	uint32_t judged = 0;
	double most = 0;

	if (!list)
		return -ENOMEM;
	report->functions = list;
	f = &list[report->function_count++];
	*f = (struct fleet_function){.program = text_of(c, c->program),
				     .function = known(text_of(c, place->function)),
				     .module = known(text_of(c, place->module))};
	for (uint32_t u = 0; u < c->count; u++) {
		const struct fleet_course *course = course_of(c, u, c->function);
		const struct measured *m = &c->measured[u];

		f->in_use += course ? course->bytes[c->matrix->moments - 1] : 0;
		if (!c->units[u].told)
			continue;
		f->growth += llround(m->growth.total);
		if (m->growth.sustained && m->growth.total >= FLEET_BYTES_LEAST) {
			f->growing++;
			if (!f->most_host || m->growth.total > most) {
				most = m->growth.total;
				f->most_host = c->units[u].host;
			}
		}
		c->values[judged++] = m->growth.total;
	}
	f->boards = judged;
	f->median = llround(stats_median(c->values, judged));
	f->median_error = llround(stats_median_error(c->values, judged));
	f->p95 = llround(stats_quantile(c->values, judged, 0.95));
	return 0;
}

static int compare_function(struct comparison *c, uint32_t function)
{
	int r;

	measure_all(c, function, true);
	memset(c->explained, 0, c->count * sizeof(*c->explained));
	memset(c->explained_level, 0, c->count * sizeof(*c->explained_level));
	r = builds_compare(c);
	if (!r)
		r = growth_compare(c);
	if (!r)
		r = outliers_compare(c);
	return r ? r : add_function(c);
}

/* ---- a program ---- */

static void comparison_done(struct comparison *c)
{
	free(c->units);
	free(c->builds);
	free(c->functions);
	free(c->measured);
	free(c->explained);
	free(c->explained_level);
	free(c->values);
	free(c->others);
	free(c->room);
	free(c->chosen);
}

static int make_room(struct comparison *c)
{
	size_t count = (size_t)c->count + 1;

	c->measured = calloc(count, sizeof(*c->measured));
	c->explained = calloc(count, sizeof(*c->explained));
	c->explained_level = calloc(count, sizeof(*c->explained_level));
	c->values = calloc(count, sizeof(*c->values));
	c->others = calloc(count, sizeof(*c->others));
	c->room = calloc(count, sizeof(*c->room));
	c->chosen = calloc(count, sizeof(*c->chosen));
	return c->measured && c->explained && c->explained_level && c->values && c->others &&
			       c->room && c->chosen
		       ? 0
		       : -ENOMEM;
}

/* Keeps how many boards there are to compare. */
static void note_sizes(const struct comparison *c, struct fleet_report *report)
{
	uint64_t told = 0, first = 0, second = 0;

	for (uint32_t b = 0; b < c->build_count; b++) {
		uint64_t n = c->builds[b].judged;

		told += n;
		second = n > first ? first : n > second ? n : second;
		first = n > first ? n : first;
	}
	if (told > report->most_boards)
		report->most_boards = told;
	if (c->build_count > 1 && second >= report->most_of_build)
		report->most_of_build = second;
}

static int compare_program(const struct fleet_matrix *matrix, uint32_t program,
			   struct fleet_report *report)
{
	cleanup(comparison_done) struct comparison c = {
		.matrix = matrix, .report = report, .program = program};
	int r = list_units(&c);

	if (r || !c.count)
		return r;
	r = make_room(&c);
	if (!r)
		r = list_builds(&c);
	if (!r)
		r = list_functions(&c);
	if (!r)
		r = find_sizes(&c);
	for (uint32_t f = 0; !r && f < c.function_count; f++)
		r = compare_function(&c, c.functions[f]);
	note_sizes(&c, report);
	report->programs++;
	report->boards += c.count;
	report->builds += c.build_count;
	for (uint32_t u = 0; u < c.count; u++)
		report->too_short += !c.units[u].told;
	return r;
}

/* ---- all programs ---- */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int strongest_first(const void *a, const void *b)
{
	const struct fleet_finding *x = a, *y = b;
	int r;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	r = compare_texts(x->program, y->program);
	r = r ? r : compare_texts(x->function, y->function);
	r = r ? r : compare_texts(x->module, y->module);
	return r ? r : compare_texts(x->build, y->build);
}

static int most_growth_first(const void *a, const void *b)
{
	const struct fleet_function *x = a, *y = b;
	int r;

	if (x->growth != y->growth)
		return x->growth > y->growth ? -1 : 1;
	if (x->in_use != y->in_use)
		return x->in_use > y->in_use ? -1 : 1;
	r = compare_texts(x->program, y->program);
	r = r ? r : compare_texts(x->function, y->function);
	return r ? r : compare_texts(x->module, y->module);
}

int fleet_report_of(const struct fleet_matrix *m, struct fleet_report *report)
{
	cleanup(cleanup_free) bool *done = calloc((size_t)m->texts.count + 1, sizeof(*done));
	int r = done ? 0 : -ENOMEM;

	report->by_age = m->by_age;
	report->from_ns = m->from_ns;
	report->step_ns = m->step_ns;
	report->moments = m->moments;
	report->to_ns = m->from_ns + (m->moments ? m->moments - 1 : 0) * m->step_ns;
	for (uint32_t i = 0; !r && i < m->unit_count; i++) {
		uint32_t program = m->units[i].program;

		if (!done[program])
			r = compare_program(m, program, report);
		done[program] = true;
	}
	if (report->finding_count)
		qsort(report->findings, report->finding_count, sizeof(*report->findings),
		      strongest_first);
	if (report->function_count)
		qsort(report->functions, report->function_count, sizeof(*report->functions),
		      most_growth_first);
	return r;
}
