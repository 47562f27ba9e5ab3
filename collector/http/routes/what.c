/* Reads parameters that several questions share. See what.h. */
#include "collector/http/routes/what.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/writer.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define POINTS_MAX 100000

int what_value(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (value_parse(value, &w->value) < 0)
		return err_set(err, -EINVAL,
			       "%s takes allocated, leaked, freed, in-use or peak, not \"%.60s\"",
			       name, value);
	w->value_given = true;
	return 0;
}

int what_weight(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (!strcmp(value, "bytes"))
		w->weight = EXPORT_BYTES;
	else if (!strcmp(value, "blocks"))
		w->weight = EXPORT_BLOCKS;
	else
		return err_set(err, -EINVAL, "%s takes bytes or blocks, not \"%.60s\"", name,
			       value);
	return 0;
}

int what_at(void *context, const struct view *view, const char *name, const char *value,
	    struct err_text *err)
{
	struct what *w = context;
	int r = query_time(view, name, value, &w->at_ns, err);

	w->value = VALUE_IN_USE;
	w->value_given = true;
	return r < 0 ? r : 0;
}

int what_by(void *context, const struct view *view, const char *name, const char *value,
	    struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (!strcmp(value, "site"))
		w->grouping = GROUP_BY_SITE;
	else if (!strcmp(value, "backtrace"))
		w->grouping = GROUP_BY_BACKTRACE;
	else if (!strcmp(value, "function"))
		w->grouping = GROUP_BY_FUNCTION;
	else
		return err_set(err, -EINVAL, "%s takes site, function or backtrace, not \"%.60s\"",
			       name, value);
	return 0;
}

int what_number(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (parse_u64(value, !strcmp(name, "skip") ? &w->skip : &w->count) < 0)
		return err_set(err, -EINVAL, "%s takes a whole number, not \"%.60s\"", name, value);
	return 0;
}

/* Each route checks the word itself, as each has its own. */
int what_sort_by(void *context, const struct view *view, const char *name, const char *value,
		 struct err_text *err)
{
	struct what *w = context;

	(void)view;
	(void)name;
	(void)err;
	w->sort_by = value;
	return 0;
}

int what_order(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	w->ascending = !strcmp(value, "asc");
	if (!w->ascending && strcmp(value, "dsc") != 0 && strcmp(value, "desc") != 0)
		return err_set(err, -EINVAL, "%s takes asc or dsc, not \"%.60s\"", name, value);
	return 0;
}

int what_moment(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;
	int r = query_time(view, name, value, !strcmp(name, "start") ? &w->start_ns : &w->end_ns,
			   err);

	return r < 0 ? r : 0;
}

int what_points(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;
	uint64_t points;

	(void)view;
	if (parse_u64(value, &points) < 0 || !points || points > POINTS_MAX)
		return err_set(err, -EINVAL, "%s takes a number from 1 to %d, not \"%.60s\"", name,
			       POINTS_MAX, value);
	w->points = (uint32_t)points;
	return 0;
}

int what_preview(void *context, const struct view *view, const char *name, const char *value,
		 struct err_text *err)
{
	struct what *w = context;
	uint64_t one_in;

	(void)view;
	if (parse_u64(value, &one_in) < 0 || one_in < 2 || one_in > PREVIEW_MOST)
		return err_set(err, -EINVAL, "%s takes a number from 2 to %d, not \"%.60s\"", name,
			       PREVIEW_MOST, value);
	w->filter.one_in = (uint32_t)one_in;
	return 0;
}

int what_bands_by(void *context, const struct view *view, const char *name, const char *value,
		  struct err_text *err)
{
	struct what *w = context;

	(void)view;
	w->bands_by = value;
	return series_by(value, name, &w->bands, &w->series, err);
}

int what_bands(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;
	uint64_t number;

	(void)view;
	if (parse_u64(value, &number) < 0 || !number || number > SERIES_MAX)
		return err_set(err, -EINVAL, "%s takes a number from 1 to %d, not \"%.60s\"", name,
			       SERIES_MAX, value);
	w->bands.most = (uint32_t)number;
	return 0;
}

int what_series(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;

	(void)name;
	return series_filters_add(&w->series, view, value, err);
}

int what_over_time(struct exchange *x, struct what *what, const struct timeline_question *over,
		   struct timeline *ret_timeline, struct series_list *ret_series)
{
	struct view *view = x->source->view;
	int r;

	*ret_series = (struct series_list){0};
	if (!what->bands_by && !what->series.count)
		return query_timeline(view, &what->filter, over, ret_timeline, &x->err);
	what->bands.blocks = what->weight == EXPORT_BLOCKS;
	r = series_settle(what->bands_by, &what->bands, &what->series, view, &x->err);
	if (r < 0)
		snprintf(x->parameter, sizeof(x->parameter), "by");
	return r ? r
		 : query_series(view, &what->filter, over, &what->bands, ret_timeline, ret_series,
				&x->err);
}

int what_percent(void *context, const struct view *view, const char *name, const char *value,
		 struct err_text *err)
{
	struct what *w = context;
	char *end;
	double percent = strtod(value, &end);

	(void)view;
	if (*end == '%')
		end++;
	if (end == value || *end || !(percent >= 0 && percent <= 100))
		return err_set(err, -EINVAL, "%s takes a number from 0 to 100, not \"%.60s\"", name,
			       value);
	w->percent_min = percent;
	return 0;
}

int what_young(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (parse_duration(value, &w->young_ns) < 0)
		return err_set(err, -EINVAL,
			       "%s takes a duration (10 or 10s, 4h3m2s, 100ms), not \"%.60s\"",
			       name, value);
	return 0;
}

int what_base(void *context, const struct view *view, const char *name, const char *value,
	      struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (strlen(value) >= sizeof(w->base))
		return err_set(err, -EINVAL,
			       "%s takes the id of a recording, and @TIME behind it, not \"%.60s\"",
			       name, value);
	snprintf(w->base, sizeof(w->base), "%s", value);
	return 0;
}

int what_graphs(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;

	(void)view;
	return read_switch_value(name, value, &w->graphs, err);
}

int what_pixels(void *context, const struct view *view, const char *name, const char *value,
		struct err_text *err)
{
	struct what *w = context;
	uint64_t pixels;

	(void)view;
	if (parse_u64(value, &pixels) < 0 || pixels < 10 || pixels > 10000)
		return err_set(err, -EINVAL,
			       "%s takes a number of pixels from 10 to 10000, not \"%.60s\"", name,
			       value);
	*(!strcmp(name, "width") ? &w->width : &w->height) = (uint32_t)pixels;
	return 0;
}

int what_title(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (strlen(value) >= sizeof(w->title))
		return err_set(err, -EINVAL, "%s takes a text of at most %zu bytes", name,
			       sizeof(w->title) - 1);
	snprintf(w->title, sizeof(w->title), "%s", value);
	return 0;
}

int what_file(void *context, const struct view *view, const char *name, const char *value,
	      struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (!value[0])
		return err_set(err, -EINVAL, "%s takes the path of a source file", name);
	w->file = value;
	return 0;
}

int what_inverted(void *context, const struct view *view, const char *name, const char *value,
		  struct err_text *err)
{
	struct what *w = context;

	(void)view;
	return read_switch_value(name, value, &w->inverted, err);
}

int what_reversed(void *context, const struct view *view, const char *name, const char *value,
		  struct err_text *err)
{
	struct what *w = context;

	(void)view;
	return read_switch_value(name, value, &w->reversed, err);
}

int what_table(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	if (rows_table(value, &w->tables) < 0)
		return err_set(err, -EINVAL, "%s takes allocations or backtraces, not \"%.60s\"",
			       name, value);
	return 0;
}

int what_with_stacks(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err)
{
	struct what *w = context;

	(void)view;
	return read_switch_value(name, value, &w->with_stacks, err);
}

int what_strip(void *context, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	struct what *w = context;

	(void)view;
	return read_switch_value(name, value, &w->strip, err);
}

void what_init(struct what *what, struct exchange *x)
{
	*what = (struct what){
		.at_ns = NO_TIME,
		.grouping = GROUP_BY_SITE,
		.count = UINT64_MAX,
		.end_ns = NO_TIME,
		.points = 1000,
		.young_ns = NO_TIME,
		.bands.most = SERIES_USUAL,
	};
	filter_init(&what->filter);
	what->filter.cancel.asked = &x->cancelled;
	what->filter.progress = &x->progress;
}

int what_read(struct exchange *x, const struct route_parameter *table, struct what *what)
{
	what_init(what, x);
	return read_parameters(x, table, what, &what->filter);
}

void what_done(struct what *what)
{
	series_filters_done(&what->series);
	filter_done(&what->filter);
}
