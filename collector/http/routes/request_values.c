/* Reads parameters that several questions share. See request_values.h. */
#include "collector/http/routes/request_values.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

const struct parameter_word request_orders[] = {
	{"asc", ORDER_ASCENDING}, {"dsc", ORDER_DESCENDING}, {"desc", ORDER_DESCENDING}, {0}};
const struct parameter_word request_weights[] = {
	{"bytes", EXPORT_BYTES}, {"blocks", EXPORT_BLOCKS}, {0}};
const struct parameter_word request_groupings[] = {{"site", GROUP_BY_SITE},
						   {"function", GROUP_BY_FUNCTION},
						   {"backtrace", GROUP_BY_BACKTRACE},
						   {0}};

const struct parameter_word request_suppress[] = {{"known", 0}, {"none", 1}, {0}};

int request_values_value(void *context, const struct view *view, const char *name,
			 const char *value, struct err_text *err)
{
	struct request_values *w = context;

	(void)view;
	if (value_parse(value, &w->value) < 0)
		return err_set(err, -EINVAL,
			       "%s takes allocated, leaked, freed, in-use or peak, not \"%.60s\"",
			       name, value);
	w->value_given = true;
	return 0;
}

int request_values_at(void *context, const struct view *view, const char *name, const char *value,
		      struct err_text *err)
{
	struct request_values *w = context;
	/* If the recording grows, the client may have seen a later moment than this reader. */
	int r = (recording_is_growing(view_recording(view)) ? query_time : query_moment)(
		view, name, value, &w->at_ns, err);

	w->value = VALUE_IN_USE;
	w->value_given = true;
	return r < 0 ? r : 0;
}

int request_values_bands_by(void *context, const struct view *view, const char *name,
			    const char *value, struct err_text *err)
{
	struct request_values *w = context;

	(void)view;
	w->bands_by = value;
	return series_by(value, name, &w->bands, &w->series, err);
}

int request_values_series(void *context, const struct view *view, const char *name,
			  const char *value, struct err_text *err)
{
	struct request_values *w = context;

	(void)name;
	return series_filters_add(&w->series, view, value, err);
}

int request_values_over_time(struct exchange *x, struct request_values *values,
			     const struct timeline_question *over, struct timeline *ret_timeline,
			     struct series_list *ret_series)
{
	struct view *view = x->source->view;
	int r;

	*ret_series = (struct series_list){0};
	if (!values->bands_by && !values->series.count)
		return query_timeline(view, &values->filter, over, ret_timeline, &x->err);
	values->bands.blocks = values->weight == EXPORT_BLOCKS;
	r = series_settle(values->bands_by, &values->bands, &values->series, view, &x->err);
	if (r < 0)
		snprintf(x->parameter, sizeof(x->parameter), "by");
	return r ? r
		 : query_series(view, &values->filter, over, &values->bands, ret_timeline,
				ret_series, &x->err);
}

void request_values_init(struct request_values *values, struct exchange *x)
{
	*values = (struct request_values){
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
	filter_init(&values->filter);
	values->filter.cancel.asked = &x->cancelled;
	values->filter.progress = &x->progress;
}

void request_values_done(struct request_values *values)
{
	series_filters_done(&values->series);
	filter_done(&values->filter);
}
