/* Reads parameters that several questions share. See what.h. */
#include "collector/http/routes/what.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

const struct parameter_word what_orders[] = {
	{"asc", ORDER_ASCENDING}, {"dsc", ORDER_DESCENDING}, {"desc", ORDER_DESCENDING}, {0}};
const struct parameter_word what_weights[] = {
	{"bytes", EXPORT_BYTES}, {"blocks", EXPORT_BLOCKS}, {0}};
const struct parameter_word what_groupings[] = {{"site", GROUP_BY_SITE},
						{"function", GROUP_BY_FUNCTION},
						{"backtrace", GROUP_BY_BACKTRACE},
						{0}};

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

int what_at(void *context, const struct view *view, const char *name, const char *value,
	    struct err_text *err)
{
	struct what *w = context;
	int r = query_time(view, name, value, &w->at_ns, err);

	w->value = VALUE_IN_USE;
	w->value_given = true;
	return r < 0 ? r : 0;
}

int what_bands_by(void *context, const struct view *view, const char *name, const char *value,
		  struct err_text *err)
{
	struct what *w = context;

	(void)view;
	w->bands_by = value;
	return series_by(value, name, &w->bands, &w->series, err);
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

void what_init(struct what *what, struct exchange *x)
{
	*what = (struct what){
		.at_ns = NO_TIME,
		.grouping = GROUP_BY_SITE,
		.count = UINT64_MAX,
		.end_ns = NO_TIME,
		.points = 1000,
		.percent_min = -1,
		.young_ns = NO_TIME,
		.bands.most = SERIES_USUAL,
		.map = NO_TIME,
		.peak_rss_max = UINT64_MAX,
	};
	filter_init(&what->filter);
	what->filter.cancel.asked = &x->cancelled;
	what->filter.progress = &x->progress;
}

void what_done(struct what *what)
{
	series_filters_done(&what->series);
	filter_done(&what->filter);
}
