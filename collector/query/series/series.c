/*
 * Computes what was in use over time, in bands: the groups with the highest peaks, or named
 * filters, and the rest. The choice of groups does not depend on the part of the time that is
 * shown, so that a band keeps its place when the user zooms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/time/bands.h"
#include "collector/query/time/courses.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/series/parted.h"
#include "collector/query/match/matcher.h"
#include "collector/query/time/timeline.h"
#include "collector/query/sums/whole_sums.h"

#include "base/ban.h"

void series_done(struct series_list *series)
{
	for (uint32_t i = 0; i < series->count; i++) {
		free(series->list[i].name);
		free(series->list[i].values);
	}
	*series = (struct series_list){0};
}

/* ---- groups ---- */

static int highest_first(const void *a, const void *b, void *courses)
{
	const struct course *list = courses;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (list[x].most != list[y].most)
		return list[x].most > list[y].most ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Chooses the groups with the highest peaks, each by one of its stacks. */
static int series_choose(struct view *view, const struct parted *p, const struct history_of *of,
			 struct kept_bands *ret_chosen, struct err_text *err)
{
	const struct usage_index *all = view_usage_index_known(view);
	struct history_of these = *of;
	cleanup(cleanup_free) struct course *courses =
		calloc((size_t)p->groups + 1, sizeof(*courses));
	cleanup(cleanup_free) uint32_t *order = calloc((size_t)p->groups + 1, sizeof(*order));
	int r = courses && order ? 0 : -ENOMEM;

	these.like = all ? usage_index_bins(all) : NULL;
	if (!r)
		r = courses_follow(&these, &(struct course_groups){p->of_node, p->nodes, p->groups},
				   courses, err);
	if (r < 0)
		return r;
	for (uint32_t g = 0; g < p->groups; g++)
		order[g] = g;
	qsort_r(order, p->groups, sizeof(*order), highest_first, courses);
	ret_chosen->count = 0;
	for (uint32_t k = 0; k < SERIES_MAX && k < p->groups && courses[order[k]].most > 0; k++)
		ret_chosen->node[ret_chosen->count++] = p->example[order[k]];
	return 0;
}

/* The choice needs all births and deaths in order. For a recording without a filter it is made
 * once. */
static int chosen_bands(struct view *view, const struct parted *p, const struct history_of *of,
			enum grouping grouping, struct kept_bands *ret_chosen, struct err_text *err)
{
	struct kept_bands *kept =
		&view->bands[grouping][of->matcher->filter->hide][of->matcher->leaked_only];
	uint64_t generation = view->generation + 1;
	int r;

	pthread_mutex_lock(&view->sums_lock);
	*ret_chosen = *kept;
	pthread_mutex_unlock(&view->sums_lock);
	if (of->matcher->everything && ret_chosen->generation == generation)
		return 0;
	r = series_choose(view, p, of, ret_chosen, err);
	if (r < 0 || !of->matcher->everything)
		return r;
	ret_chosen->generation = generation;
	pthread_mutex_lock(&view->sums_lock);
	*kept = *ret_chosen;
	pthread_mutex_unlock(&view->sums_lock);
	return 0;
}

/* Gives each node its band. Nodes outside of all bands get the last band. */
static int give_bands(struct parted *p, const struct kept_bands *chosen, uint32_t bands)
{
	cleanup(cleanup_free) uint32_t *band_of = calloc((size_t)p->groups + 1, sizeof(*band_of));

	if (!band_of)
		return -ENOMEM;
	for (uint32_t g = 0; g <= p->groups; g++)
		band_of[g] = bands;
	for (uint32_t k = 0; k < bands; k++)
		band_of[p->of_node[chosen->node[k]]] = k;
	band_of[0] = bands;
	for (uint32_t node = 0; node <= p->nodes; node++)
		p->of_node[node] = band_of[p->of_node[node]];
	return 0;
}

/* "function (file.c:12)"; for a backtrace with its number and its caller: "7: function (file.c:12)
 * < caller". */
static int name_place(struct series *s, enum grouping grouping, const char *caller)
{
	const char *module = s->module ? module_basename(s->module) : "unknown", *at = "";
	char number[32] = "", id[32] = "";
	int n;

	if (s->file && grouping != GROUP_BY_FUNCTION) {
		at = module_basename(s->file);
		if (s->line)
			snprintf(number, sizeof(number), ":%u", s->line);
	}
	if (s->node)
		snprintf(id, sizeof(id), "%u: ", s->node);
	if (grouping == GROUP_BY_MODULE)
		n = asprintf(&s->name, "%s", module);
	else
		n = asprintf(&s->name, "%s%s%s%s%s%s%s%s", id,
			     s->function ? s->function : "(no backtrace)", *at ? " (" : "", at,
			     number, *at ? ")" : "", caller ? " < " : "", caller ? caller : "");
	if (n < 0)
		s->name = NULL;
	return s->name ? 0 : -ENOMEM;
}

static int name_group(struct series *s, const struct view *view, const struct hiding *hiding,
		      uint32_t node, enum grouping grouping)
{
	struct cursor at = cursor_at_site(view, hiding, node);
	const struct frame *frame = &view->frames[cursor_frame(view, at)];
	const char *caller = NULL;

	s->module = intern_get(&view->texts, frame->module);
	if (grouping != GROUP_BY_MODULE) {
		s->function = intern_get(&view->names, frame->name);
		s->file = intern_get(&view->texts, frame->file);
		s->line = grouping == GROUP_BY_FUNCTION ? 0 : frame->line;
	}
	if (grouping == GROUP_BY_BACKTRACE) {
		s->node = node;
		if (at.node && (at = cursor_out(view, at)).node)
			caller =
				intern_get(&view->names, view->frames[cursor_frame(view, at)].name);
	}
	return name_place(s, grouping, caller);
}

/* Makes the list of bands with their names, and gives each node its band. */
static int group_bands(struct view *view, const struct history_of *of,
		       const struct series_question *q, struct parted *p, struct series_list *list,
		       struct err_text *err)
{
	const struct whole_sums *whole;
	struct kept_bands chosen;
	struct hiding hiding;
	uint32_t bands;
	int r = hiding_of(&hiding, view, of->matcher->filter, err);

	if (!r)
		r = view_whole_sums(view, of->matcher->filter, 0, &whole, err);
	if (!r)
		r = parted_init(p, view, &hiding, &whole->sums, q->grouping);
	if (!r)
		r = chosen_bands(view, p, of, q->grouping, &chosen, err);
	if (r < 0)
		return r;
	bands = q->most < chosen.count ? q->most : chosen.count;
	r = give_bands(p, &chosen, bands);
	for (; !r && list->count < bands; list->count++)
		r = name_group(&list->list[list->count], view, &hiding, chosen.node[list->count],
			       q->grouping);
	return r;
}

/* ---- filters ---- */

struct judges {
	struct matcher list[SERIES_FILTERS_MAX];
	uint32_t count;
};

static void judges_done(struct judges *j)
{
	for (uint32_t i = 0; i < j->count; i++)
		matcher_done(&j->list[i]);
}

static uint32_t series_judge(const void *context, const struct row_block *block, uint32_t i)
{
	const struct judges *j = context;
	uint32_t k = 0;

	while (k < j->count && !matcher_row(&j->list[k], block, i))
		k++;
	return k;
}

static int filter_bands(struct view *view, const struct series_filters *filters,
			struct history_of *of, struct judges *judges, struct series_list *list,
			struct err_text *err)
{
	for (size_t i = 0; i < filters->count; i++) {
		int r = matcher_init(&judges->list[i], view, &filters->list[i].filter, err);

		if (r < 0)
			return r;
		judges->list[i].hides_survivors = false;
		judges->count++;
		of->label_columns |= matcher_columns(&judges->list[i]);
		list->list[list->count].name = strdup(filters->list[i].name);
		if (!list->list[list->count++].name)
			return -ENOMEM;
	}
	of->label = series_judge;
	of->label_context = judges;
	return 0;
}

/* ---- both ---- */

static uint64_t shown(int64_t value, bool blocks)
{
	if (value < 0)
		return 0;
	return blocks ? ((uint64_t)value + HISTORY_UNIT / 2) / HISTORY_UNIT : (uint64_t)value;
}

static int put_values(struct series_list *list, const struct bands_question *q,
		      const int64_t *values)
{
	for (uint32_t k = 0; k < q->count; k++) {
		struct series *s = &list->list[k];

		s->values = calloc((size_t)q->moment_count + 1, sizeof(*s->values));
		if (!s->values)
			return -ENOMEM;
		for (uint32_t b = 0; b < q->moment_count; b++) {
			s->values[b] = shown(values[(size_t)b * q->count + k], q->blocks);
			if (s->values[b] > s->most)
				s->most = s->values[b];
		}
	}
	return 0;
}

/* Adds the rest, which may be empty. */
static int add_rest(struct series_list *list)
{
	list->list[list->count].is_rest = true;
	list->list[list->count].name = strdup("rest");
	return list->list[list->count++].name ? 0 : -ENOMEM;
}

static void drop_empty_rest(struct series_list *list)
{
	struct series *rest = &list->list[list->count - 1];

	if (rest->most)
		return;
	free(rest->name);
	free(rest->values);
	*rest = (struct series){0};
	list->count--;
}

static int series_follow(const struct history_of *of, const struct timeline *t,
			 const uint64_t *moments, const struct parted *p, bool blocks,
			 struct series_list *list, struct err_text *err)
{
	const struct bands_question q = {
		.moments = moments,
		.moment_count = t->count,
		.count = list->count,
		.of_node = p->of_node,
		.nodes = p->nodes,
		.blocks = blocks,
	};
	cleanup(cleanup_free) int64_t *values =
		calloc((size_t)q.moment_count * q.count + 1, sizeof(*values));
	int r = values ? bands_at(of, &q, values, err) : -ENOMEM;

	if (!r)
		r = put_values(list, &q, values);
	if (!r)
		drop_empty_rest(list);
	return r;
}

static int series_ask(struct view *view, const struct matcher *m,
		      const struct timeline_question *over, const struct series_question *q,
		      struct timeline *ret_timeline, struct series_list *list, struct err_text *err)
{
	cleanup(parted_done) struct parted parted = {0};
	cleanup(judges_done) struct judges judges = {.count = 0};
	cleanup(cleanup_free) uint64_t *moments = NULL;
	struct history_of of = {.matcher = m};
	int r = timeline_with_peaks(view, m, over, q->blocks, ret_timeline, &moments, err);

	if (r < 0)
		return r;
	of.nodes = !q->filters;
	r = q->filters ? filter_bands(view, q->filters, &of, &judges, list, err)
		       : group_bands(view, &of, q, &parted, list, err);
	if (!r)
		r = add_rest(list);
	return r ? r : series_follow(&of, ret_timeline, moments, &parted, q->blocks, list, err);
}

int query_series(struct view *view, const struct filter *filter,
		 const struct timeline_question *over, const struct series_question *question,
		 struct timeline *ret_timeline, struct series_list *ret_series,
		 struct err_text *err)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	struct series_list list = {0};
	struct matcher m;
	int r = view_prepare(view, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	m.hides_survivors = false;
	if (over->leaked_only)
		matcher_only_leaked(&m);
	r = series_ask(view, &m, over, question, &timeline, &list, err);
	matcher_done(&m);
	if (r < 0) {
		series_done(&list);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_series = list;
	*ret_timeline = timeline;
	timeline = (struct timeline){0};
	return 0;
}
